package client

import (
	"context"
	"net/http"
	"strconv"

	"recoup"
)

// QuarantinePage is a page of batches in quarantine, by number.
type QuarantinePage struct {
	Batches []recoup.QuarantinedBatch `json:"batches" doc:"this page of the list"`
	Next    string                    `json:"next,omitempty" doc:"after, for the next page; none: this is the last"`
}

// QuarantineAct is why a batch in quarantine is retried or dropped.
type QuarantineAct struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// Bus says how the bus does that carries events to the ledger.
func (c *Client) Bus(ctx context.Context, options ...CallOption) (recoup.Bus, error) {
	return get[recoup.Bus](ctx, c, "/v1/bus", nil, options)
}

// Quarantine lists batches that could not be written, from a page's Next on; empty: from
// the first.
func (c *Client) Quarantine(ctx context.Context, after string, options ...CallOption) (QuarantinePage, error) {
	return get[QuarantinePage](ctx, c, "/v1/bus/quarantine", query{}.text("after", after).values(), options)
}

// RetryQuarantined writes a batch in quarantine to the ledger. What it has of it already
// is left as it is.
func (c *Client) RetryQuarantined(ctx context.Context, number int64, act QuarantineAct, options ...CallOption) (recoup.QuarantinedBatch, error) {
	return call[recoup.QuarantinedBatch](ctx, c, request{method: http.MethodPost, path: quarantined(number) + "/retry", body: act}, options)
}

// DropQuarantined deletes a batch in quarantine, and with it its events.
func (c *Client) DropQuarantined(ctx context.Context, number int64, act QuarantineAct, options ...CallOption) (recoup.QuarantinedBatch, error) {
	return call[recoup.QuarantinedBatch](ctx, c, request{method: http.MethodPost, path: quarantined(number) + "/drop", body: act}, options)
}

func quarantined(number int64) string { return "/v1/bus/quarantine/" + strconv.FormatInt(number, 10) }
