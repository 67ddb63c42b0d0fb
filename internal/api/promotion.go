package api

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"recoup/client"
	"recoup/fault"
	"recoup/internal/alert"
	"recoup/internal/check"
	"recoup/internal/engine"
	"recoup/internal/store"
)

type entityIn struct {
	Entity string `path:"entity"`
}

func (a *API) gate(c *call, in *entityIn) (client.Gate, error) {
	g, err := a.Engine.Gate(c.r.Context(), in.Entity)
	return a.gateOf(c, g), err
}

// gateOf is a gate as the caller may see it. What blocks in a hub that their key
// is not for blocks all the same: they are told whose turn it is and until when,
// and not what it is.
func (a *API) gateOf(c *call, g engine.Gate) client.Gate {
	out := client.Gate{EntityID: g.EntityID, Blocked: g.Blocked(), More: g.More, OpensAt: g.Opens}
	for i := range g.Blockers {
		b := &g.Blockers[i]
		shown := client.Blocker{Table: b.Error.Table, Owner: b.Owner, Since: b.Error.CreatedAt, EndsAt: b.Ends}
		if a.mayTouch(c, b.Error.Table) {
			shown.ErrorID, shown.Code, shown.State, shown.NextRetryAt = b.Error.ID, b.Error.Code, b.Error.State, b.Error.NextRetryAt
		}
		out.Blockers = append(out.Blockers, shown)
	}
	return out
}

// mayTouch reports whether the caller's key is for the hub of a table. A table
// that no policy has is the orphans'.
func (a *API) mayTouch(c *call, table string) bool {
	t, ok := a.Engine.Policies.Table(table)
	if !ok {
		t = a.Engine.Policies.Current().OrphanTable
	}
	return c.caller.MayTouch(t)
}

type promoteIn struct{ Body client.Promotion }

func (a *API) promote(c *call, in *promoteIn) (client.Promoted, error) {
	p := engine.Promotion{EntityID: in.Body.EntityID, Phase: in.Body.Phase}
	id, err := c.idempotency()
	if err != nil {
		return client.Promoted{}, err
	}
	if id != nil {
		p.Receipt = &store.PromotionReceipt{Scope: id.scope, Key: id.item(0), Hash: id.hash, ExpiresAt: c.now.Add(receiptLife)}
	}
	done, gate, err := a.Engine.Promote(c.r.Context(), c.caller, p)
	if errors.Is(err, store.ErrBlocked) {
		return client.Promoted{}, blocked(a.gateOf(c, gate))
	}
	return client.Promoted(done), err
}

// blocked is the answer of a closed gate: by what, whose turn it is, until when.
func blocked(g client.Gate) error {
	by := "an open error"
	if n := len(g.Blockers); n > 1 {
		by = strconv.Itoa(n) + " open errors"
	}
	e := fault.New(fault.CodePromotionBlocked, "The entity is blocked by %s.", by)
	var details map[string]any
	if b, err := json.Marshal(g); err == nil && json.Unmarshal(b, &details) == nil {
		for key, value := range details {
			e = e.With(key, value)
		}
	}
	return e
}

type processedIn struct{ Body client.ProcessedBatch }

type processedOut struct {
	Accepted int `json:"accepted"`
}

func (a *API) processed(c *call, in *processedIn) (processedOut, error) {
	counts := make([]store.Processed, len(in.Body.Counts))
	var found fault.FieldErrors
	for i, p := range in.Body.Counts {
		counts[i] = c.processedOf(&p)
		if err := a.checkProcessed(c, counts[i]); err != nil {
			if !found.Merge(located("counts["+strconv.Itoa(i)+"]", err)) {
				return processedOut{}, err
			}
			continue
		}
		if found.Len() == 0 && !a.names.admit(c, "service", p.Service) {
			counts[i].Service = alert.Other
		}
	}
	if err := found.Err(); err != nil {
		return processedOut{}, err
	}
	if err := a.Store.AddProcessed(c.r.Context(), counts); err != nil {
		return processedOut{}, err
	}
	return processedOut{Accepted: len(counts)}, nil
}

func (a *API) checkProcessed(c *call, p store.Processed) error {
	for _, x := range [][2]string{{"table", p.Table}, {"service", p.Service}} {
		if err := check.Identifier(x[0], x[1]); err != nil {
			return err
		}
	}
	bad := func(field, constraint, message string) error {
		return fault.BadField(field, constraint, "%s", message)
	}
	switch {
	case p.N < 1 || p.N > 1e12 || p.Failed < 0 || p.Failed > p.N:
		return bad("count", "range", "count must be positive, and failed between 0 and count")
	case p.Duration < 0:
		return bad("duration_ms", "range", "duration_ms must be between 0 and 2^40")
	case p.FailedDuration < 0 || p.FailedDuration > p.Duration || p.Failed == 0 && p.FailedDuration > 0:
		return bad("failed_duration_ms", "range", "failed_duration_ms must be part of duration_ms, and 0 if nothing failed")
	case p.Minute.Before(c.now.Add(-24*time.Hour)) || p.Minute.After(c.now.Add(time.Hour)):
		return bad("minute", "range", "minute must be within the last day")
	case p.Table == "" && p.Service == "":
		return bad("table", "required", "table or service is required")
	case p.Table != "" && !a.mayTouch(c, p.Table):
		return engine.ErrForbidden
	}
	return a.Engine.CheckService(c.caller, p.Service)
}

// milliseconds is negative for what is out of range.
func milliseconds(n int64) time.Duration {
	if n > 1<<40 {
		return -1
	}
	return time.Duration(n) * time.Millisecond
}
