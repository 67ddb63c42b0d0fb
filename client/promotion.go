package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
)

// Gate returns whether an entity may be promoted, and if not, why, who has to act and
// until when.
func (c *Client) Gate(ctx context.Context, entity string, options ...CallOption) (recoup.Gate, error) {
	return get[recoup.Gate](ctx, c, "/v1/promotion/"+url.PathEscape(entity), nil, options)
}

// UnknownEntity reports whether an entity is open because nobody has ever named it: no
// report, and no promotion. It may be misspelt.
func (c *Client) UnknownEntity(ctx context.Context, entity string, options ...CallOption) (bool, error) {
	g, err := get[recoup.Gate](ctx, c, "/v1/promotion/"+url.PathEscape(entity), url.Values{"unknown": {"true"}}, options)
	return g.Unknown, err
}

// Promote moves an entity to its next phase, unless something blocks it: then the
// error is PROMOTION_BLOCKED, with the details that [Client.Gate] returns. The check
// and the promotion are one transaction.
func (c *Client) Promote(ctx context.Context, p recoup.Promotion, options ...CallOption) (recoup.Promoted, error) {
	return call[recoup.Promoted](ctx, c, request{method: http.MethodPost, path: "/v1/promotions", body: p, safety: keyed}, options)
}

// Processed counts work that was done, for error rates. Counts add up, so a call whose
// outcome is unknown is not retried.
func (c *Client) Processed(ctx context.Context, counts []Processed, options ...CallOption) error {
	batch := ProcessedBatch{Counts: make([]Processed, len(counts))}
	for i, p := range counts {
		p.Service = cmp.Or(p.Service, c.o.Service)
		batch.Counts[i] = p
	}
	_, err := call[struct{}](ctx, c, request{method: http.MethodPost, path: "/v1/processed", body: batch, safety: once}, options)
	return err
}
