package api

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
)

type entityIn struct {
	Entity  string `path:"entity" doc:"the entity's id, as reports name it"`
	Unknown bool   `query:"unknown" doc:"say, of an open gate, whether nobody has ever named the entity"`
}

func (a *API) gate(c *httpapi.Call, in *entityIn) (recoup.PromotionStatus, error) {
	g, err := a.Engine.Gate(c.Context(), in.Entity)
	if err == nil && in.Unknown && !g.Blocked {
		g.Unknown, err = a.Engine.Unknown(c.Context(), in.Entity)
	}
	return a.gateOf(c, g), err
}

// gateOf is a gate as the caller may see it. What blocks in a hub that their key
// is not for blocks all the same.
func (a *API) gateOf(c *httpapi.Call, g recoup.PromotionStatus) recoup.PromotionStatus {
	for i := range g.Blockers {
		if !a.mayTouch(c, g.Blockers[i].Table) {
			g.Blockers[i] = g.Blockers[i].Public()
		}
	}
	return g
}

// mayTouch reports whether the caller's key is for the hub of a table. A table
// that no policy has is the orphans'.
func (a *API) mayTouch(c *httpapi.Call, table string) bool {
	t, ok := a.Engine.Policies.Table(table)
	if !ok {
		t = a.Engine.Policies.Current().OrphanTable
	}
	return c.Caller.MayTouch(t)
}

type promoteIn struct{ Body recoup.Promotion }

func (a *API) promote(c *httpapi.Call, in *promoteIn) (recoup.Promoted, error) {
	sent, err := c.Receipt(0)
	if err != nil {
		return recoup.Promoted{}, err
	}
	var receipt *store.PromotionReceipt
	if sent != nil {
		receipt = &store.PromotionReceipt{Scope: sent.Scope, Key: sent.Key, Hash: sent.Hash, ExpiresAt: sent.ExpiresAt}
	}
	done, gate, err := a.Engine.Promote(c.Context(), c.Caller, in.Body, receipt)
	if errors.Is(err, store.ErrBlocked) {
		err = blocked(a.gateOf(c, gate))
	}
	return done, err
}

// blocked is the answer of a closed gate: by what, whose turn it is, until when.
func blocked(g recoup.PromotionStatus) error {
	by := "an open error"
	switch n := len(g.Blockers); {
	case n > 1:
		by = strconv.Itoa(n) + " open errors"
	case n == 1 && g.Blockers[0].DeadLetter:
		by = "a dead letter"
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

type processedIn struct{ Body recoup.ProcessedBatch }

type processedOut struct {
	Accepted int `json:"accepted" doc:"how many counts were taken"`
}

func (a *API) processed(c *httpapi.Call, in *processedIn) (processedOut, error) {
	counts := make([]store.Processed, len(in.Body.Counts))
	var found fault.FieldErrors
	for i, p := range in.Body.Counts {
		counts[i] = processedOf(c, &p)
		if err := a.checkProcessed(c, counts[i]); err != nil {
			if !found.Merge(httpapi.Located("counts["+strconv.Itoa(i)+"]", err)) {
				return processedOut{}, err
			}
			continue
		}
		if found.Len() == 0 && c.CheckName("service", p.Service) != nil {
			counts[i].Service = alert.Other
		}
	}
	if err := found.Err(); err != nil {
		return processedOut{}, err
	}
	if err := a.Store.AddProcessed(c.Context(), counts); err != nil {
		return processedOut{}, err
	}
	return processedOut{Accepted: len(counts)}, nil
}

func (a *API) checkProcessed(c *httpapi.Call, p store.Processed) error {
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
	case p.Minute.Before(c.Now.Add(-24*time.Hour)) || p.Minute.After(c.Now.Add(time.Hour)):
		return bad("minute", "range", "minute must be within the last day")
	case p.Table == "" && p.Service == "":
		return bad("table", "required", "table or service is required")
	case p.Table != "" && !a.mayTouch(c, p.Table):
		return engine.ErrForbidden
	}
	return a.Engine.CheckService(c.Caller, p.Service)
}

// milliseconds is negative for what is out of range.
func milliseconds(n int64) time.Duration {
	if n > 1<<40 {
		return -1
	}
	return time.Duration(n) * time.Millisecond
}
