package web

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/bus"
)

// Calls are the calls of the bus, for the commands and the console.
type Calls struct{ Client *client.Client }

// Status says how the bus does that carries events to the ledger.
func (c Calls) Status(ctx context.Context, options ...client.CallOption) (bus.Bus, error) {
	return admin.Get[bus.Bus](ctx, c.Client, "/v1/bus", nil, options)
}

// Quarantine lists batches that could not be written, from a page's Next on; empty: from
// the first.
func (c Calls) Quarantine(ctx context.Context, after string, options ...client.CallOption) (bus.QuarantinePage, error) {
	return admin.Get[bus.QuarantinePage](ctx, c.Client, "/v1/bus/quarantine", query.Values{}.Text("after", after).URL(), options)
}

// RetryQuarantined writes batches in quarantine to the ledger. What it has of them already
// is left as it is.
func (c Calls) RetryQuarantined(ctx context.Context, act bus.QuarantineAct, options ...client.CallOption) (bus.QuarantineDone, error) {
	return admin.Call[bus.QuarantineDone](ctx, c.Client, client.Request{Method: http.MethodPost, Path: "/v1/bus/quarantine/retry", Body: act, Safety: client.Idempotent}, options)
}

// DropQuarantined deletes batches in quarantine, and with them their events.
func (c Calls) DropQuarantined(ctx context.Context, act bus.QuarantineAct, options ...client.CallOption) (bus.QuarantineDone, error) {
	return admin.Call[bus.QuarantineDone](ctx, c.Client, client.Request{Method: http.MethodPost, Path: "/v1/bus/quarantine/drop", Body: act, Safety: client.Idempotent}, options)
}
