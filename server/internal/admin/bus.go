package admin

import (
	"context"
	"net/http"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Bus reads the state of the bus that carries events to the ledger, and handles its quarantine.
type Bus struct{ c *client.Client }

// Status says how the bus does that carries events to the ledger.
func (s Bus) Status(ctx context.Context, options ...client.CallOption) (wire.Bus, error) {
	return get[wire.Bus](ctx, s.c, "/v1/bus", nil, options)
}

// Quarantine lists batches that could not be written, from a page's Next on; empty: from
// the first.
func (s Bus) Quarantine(ctx context.Context, after string, options ...client.CallOption) (wire.QuarantinePage, error) {
	return get[wire.QuarantinePage](ctx, s.c, "/v1/bus/quarantine", query.Values{}.Text("after", after).URL(), options)
}

// RetryQuarantined writes batches in quarantine to the ledger. What it has of them already
// is left as it is.
func (s Bus) RetryQuarantined(ctx context.Context, act wire.QuarantineAct, options ...client.CallOption) (wire.QuarantineDone, error) {
	return call[wire.QuarantineDone](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/bus/quarantine/retry", Body: act, Safety: client.Idempotent}, options)
}

// DropQuarantined deletes batches in quarantine, and with them their events.
func (s Bus) DropQuarantined(ctx context.Context, act wire.QuarantineAct, options ...client.CallOption) (wire.QuarantineDone, error) {
	return call[wire.QuarantineDone](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/bus/quarantine/drop", Body: act, Safety: client.Idempotent}, options)
}
