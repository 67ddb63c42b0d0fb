package client

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// QuarantinePage is a page of batches in quarantine, by number.
type QuarantinePage struct {
	Batches []recoup.QuarantinedBatch `json:"batches" doc:"this page of the list"`
	Next    string                    `json:"next,omitempty" doc:"after, for the next page; none: this is the last"`
}

// QuarantineAct says which batches in quarantine are retried or dropped, and why.
type QuarantineAct struct {
	Numbers []int  `json:"numbers" minItems:"1" maxItems:"100" doc:"of the batches"`
	Reason  string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// QuarantineDone is the batches that were retried or dropped. Others are not in quarantine.
type QuarantineDone struct {
	Batches []recoup.QuarantinedBatch `json:"batches" doc:"what was in quarantine, and is no more"`
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

// RetryQuarantined writes batches in quarantine to the ledger. What it has of them already
// is left as it is.
func (c *Client) RetryQuarantined(ctx context.Context, act QuarantineAct, options ...CallOption) (QuarantineDone, error) {
	return call[QuarantineDone](ctx, c, request{method: http.MethodPost, path: "/v1/bus/quarantine/retry", body: act}, options)
}

// DropQuarantined deletes batches in quarantine, and with them their events.
func (c *Client) DropQuarantined(ctx context.Context, act QuarantineAct, options ...CallOption) (QuarantineDone, error) {
	return call[QuarantineDone](ctx, c, request{method: http.MethodPost, path: "/v1/bus/quarantine/drop", body: act}, options)
}
