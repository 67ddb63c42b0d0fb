package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
)

// CheckPromotion returns whether an entity may be promoted, and if not, why, who has to act and
// until when.
func (c *Client) CheckPromotion(ctx context.Context, entity string, options ...CallOption) (recoup.PromotionStatus, error) {
	return get[recoup.PromotionStatus](ctx, c, "/v1/promotion/"+url.PathEscape(entity), nil, options)
}

// Promote moves an entity to its next phase, unless something blocks it: then the
// error is PROMOTION_BLOCKED, with the details that [Client.CheckPromotion] returns. The check
// and the promotion are one transaction.
func (c *Client) Promote(ctx context.Context, p recoup.Promotion, options ...CallOption) (recoup.Promoted, error) {
	return call[recoup.Promoted](ctx, c, Request{Method: http.MethodPost, Path: "/v1/promotions", Body: p, Safety: IdempotentByKey}, options)
}

// CountProcessed counts work that was done, for error rates. Counts add up, so a call whose
// outcome is unknown is not retried.
func (c *Client) CountProcessed(ctx context.Context, counts []recoup.Processed, options ...CallOption) error {
	batch := recoup.ProcessedBatch{Counts: make([]recoup.Processed, len(counts))}
	for i, p := range counts {
		p.Service = cmp.Or(p.Service, c.o.Service)
		batch.Counts[i] = p
	}
	_, err := call[struct{}](ctx, c, Request{Method: http.MethodPost, Path: "/v1/processed", Body: batch, Safety: NotIdempotent}, options)
	return err
}
