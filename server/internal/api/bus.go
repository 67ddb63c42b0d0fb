package api

import (
	"cmp"
	"context"
	"strconv"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Bus is the bus that carries events to the ledger. What changes something is handed the
// batch before, to be written down.
type Bus interface {
	Status(ctx context.Context) (wire.Bus, error)
	Quarantined(ctx context.Context, after int64, limit int) ([]wire.QuarantinedBatch, error)
	Retry(ctx context.Context, number int64, note func(wire.QuarantinedBatch) error) (wire.QuarantinedBatch, error)
	Drop(ctx context.Context, number int64, note func(wire.QuarantinedBatch) error) (wire.QuarantinedBatch, error)

	// Up reports whether the bus takes events.
	Up() bool
}

// How the audit names what people do to batches in quarantine.
const (
	actBusRetry = "bus.retry"
	actBusDrop  = "bus.drop"
)

func (a *API) showBus(c *httpapi.Call, _ *struct{}) (wire.Bus, error) {
	if a.Bus == nil {
		return wire.Bus{Gaps: []wire.BusGap{}}, nil
	}
	return a.Bus.Status(c.Context())
}

// maxQuarantined is how many batches a page has.
const maxQuarantined = 100

type quarantineIn struct {
	Limit int `query:"limit" minimum:"1" maximum:"100" doc:"batches of a page; default 100"`
	After int `query:"after" minimum:"0" doc:"the number of the last batch of the page before: its next"`
}

func (a *API) listQuarantine(c *httpapi.Call, in *quarantineIn) (wire.QuarantinePage, error) {
	if a.Bus == nil {
		return wire.QuarantinePage{Batches: []wire.QuarantinedBatch{}}, nil
	}
	limit := cmp.Or(in.Limit, maxQuarantined)
	list, err := a.Bus.Quarantined(c.Context(), int64(in.After), limit)
	out := wire.QuarantinePage{Batches: list}
	if err == nil && len(list) == limit {
		out.Next = strconv.FormatInt(list[len(list)-1].Number, 10)
	}
	return out, err
}

type quarantinedIn struct {
	Body wire.QuarantineAct
}

// checkQuarantined checks the reason, which dropping must have.
func checkQuarantined(needed bool) func(*API, *httpapi.Call, *quarantinedIn) error {
	return func(_ *API, _ *httpapi.Call, in *quarantinedIn) error {
		if needed {
			if err := deadletter.CheckReason(in.Body.Reason); err != nil {
				return err
			}
		}
		return check.Reason(in.Body.Reason)
	}
}

func (a *API) retryQuarantined(c *httpapi.Call, in *quarantinedIn) (wire.QuarantineDone, error) {
	return a.eachQuarantined(in, func(number int64) (wire.QuarantinedBatch, error) {
		return a.Bus.Retry(c.Context(), number, a.noteBatch(c, actBusRetry, in.Body.Reason))
	})
}

func (a *API) dropQuarantined(c *httpapi.Call, in *quarantinedIn) (wire.QuarantineDone, error) {
	return a.eachQuarantined(in, func(number int64) (wire.QuarantinedBatch, error) {
		return a.Bus.Drop(c.Context(), number, a.noteBatch(c, actBusDrop, in.Body.Reason))
	})
}

// eachQuarantined acts on batches until one fails. What is not in quarantine is left
// alone: somebody else was faster, or there is no bus.
func (a *API) eachQuarantined(in *quarantinedIn, act func(number int64) (wire.QuarantinedBatch, error)) (wire.QuarantineDone, error) {
	out := wire.QuarantineDone{Batches: []wire.QuarantinedBatch{}}
	if a.Bus == nil {
		return out, nil
	}
	for _, number := range in.Body.Numbers {
		done, err := act(int64(number))
		if fault.Classify(err).Code == fault.CodeNotFound {
			continue
		}
		if err != nil {
			return out, err
		}
		out.Batches = append(out.Batches, done)
	}
	return out, nil
}

// noteBatch writes an act on a batch down.
func (a *API) noteBatch(c *httpapi.Call, act, reason string) func(wire.QuarantinedBatch) error {
	return func(q wire.QuarantinedBatch) error {
		return a.Store.AppendAudit(c.Context(), c.Act(reason).On(act, strconv.FormatInt(q.Number, 10),
			map[string]any{"batch_id": q.BatchID.String(), "sequence": q.Sequence, "events": q.Events, "failed_with": q.Reason}))
	}
}
