package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

func (w *world) bulk(b engine.Bulk) (recoup.BulkResult, error) {
	return w.Engine.Bulk(w.Context(), ada, b)
}

// previewed acts on everything that the preview of a filter shows.
func (w *world) previewed(c engine.Caller, b engine.Bulk) (recoup.BulkResult, error) {
	b.Preview = true
	shown, err := w.Engine.Bulk(w.Context(), c, b)
	if err != nil || shown.Matched == 0 {
		return shown, err
	}
	return w.Engine.Bulk(w.Context(), c, engine.Bulk{Act: b.Act, Token: shown.Token, Input: b.Input})
}

func TestBulk(t *testing.T) {
	everywhere(t, func(w *world) {
		var reports []recoup.Report
		for i := range 250 { // more than one chunk
			reports = append(reports, failing(dol, fmt.Sprintf("e%d", i), "NETWORK_TIMEOUT"))
		}
		made := w.Report(append(reports, failing(people, "p1", "NETWORK_TIMEOUT"))...)
		w.Act(engine.Act{ID: made[0].ID, Input: lifecycle.Park{Reason: "look"}})
		park := engine.Bulk{Filter: store.Filter{Table: dol}, Input: lifecycle.Park{Reason: "outage"}, Preview: true}

		preview, err := w.bulk(park)
		if err != nil || preview.Matched != 250 || preview.Applied != 249 || preview.NotDone != 1 || len(preview.Refused) != 1 || preview.Refused[0].ID != made[0].ID {
			w.Fatalf("preview %+v, %v", preview, err)
		}
		if e := w.Read(made[1].ID); e != made[1] {
			w.Errorf("a preview changed %s", e.State)
		}
		w.Report(failing(dol, "late", "NETWORK_TIMEOUT")) // the filter selects it, and the preview has not shown it
		done, err := w.bulk(engine.Bulk{Token: preview.Token, Input: park.Input})
		if err != nil || done.Applied != preview.Applied || done.NotDone != preview.NotDone || done.Matched != preview.Matched {
			w.Errorf("done %+v, %v", done, err)
		}
		if last, other := w.Read(made[249].ID), w.Read(made[250].ID); last.ParkReason != "outage" || last.ParkedBy != "ada" || other.State != recoup.RetryPending {
			w.Errorf("parked for %s by %s, the other %s", last.ParkReason, last.ParkedBy, other.State)
		}
	})
}

func TestBulkByName(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(people, "e2", "NETWORK_TIMEOUT"))
		ids := []recoup.ID{made[0].ID, made[0].ID, {9}, made[1].ID}
		for _, preview := range []bool{true, false} {
			r, err := w.bulk(engine.Bulk{IDs: ids, Preview: preview, Input: lifecycle.Resolve{Reason: "fixed"}})
			if err != nil || r.Matched != 3 || r.Applied != 2 || r.NotDone != 1 || !errors.Is(r.Refused[0].Err, sqldb.ErrNotFound) {
				w.Errorf("preview %v: %+v, %v", preview, r, err)
			}
		}
	})
}

func TestBulkIsRefusedWhole(t *testing.T) {
	everywhere(t, func(w *world) {
		w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))
		resolve := lifecycle.Resolve{Reason: "fixed"}
		for _, row := range []struct {
			name string
			b    engine.Bulk
			want []string
		}{
			{"an empty filter", engine.Bulk{Input: resolve}, []string{"filter"}},
			{"a filter and ids", engine.Bulk{IDs: []recoup.ID{{1}}, Filter: store.Filter{Table: dol}, Input: resolve}, []string{"ids"}},
			{"too many ids", engine.Bulk{IDs: make([]recoup.ID, engine.MaxBulk+1), Input: resolve}, []string{"ids"}},
			{"a filter that was not previewed", engine.Bulk{Filter: store.Filter{Table: dol}, Input: resolve}, []string{"token"}},
			{"a token that is none", engine.Bulk{Token: "AAAA", Input: resolve}, []string{"token"}},
			{"a token and ids", engine.Bulk{Token: "AAAA", IDs: []recoup.ID{{1}}, Input: resolve}, []string{"token"}},
			{"no reason", engine.Bulk{All: true, Input: lifecycle.Resolve{}}, []string{"reason"}},
		} {
			_, err := w.bulk(row.b)
			w.wantFields(err, nil, row.want...)
		}
		if r, err := w.bulk(engine.Bulk{All: true, Preview: true, Input: resolve}); err != nil || r.Applied != 1 {
			w.Errorf("all that is meant: %+v, %v", r, err)
		}
	})
}

// crowd is a store with more errors than one act may take.
type crowd struct {
	node.Store
	acts int
}

func (c *crowd) Errors(_ context.Context, _ store.Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	return make([]recoup.Error, p.Size()), sqldb.Cursor{ID: recoup.ID{1}}, nil
}

func (c *crowd) ApplySteps(ctx context.Context, _ time.Time, steps []store.Step) ([]store.Outcome, error) {
	c.acts++
	return make([]store.Outcome, len(steps)), ctx.Err()
}

func TestBulkCap(t *testing.T) {
	t.Parallel()
	many := &crowd{Store: node.SQLite(t)}
	w := &world{Node: node.On(t, many)}
	_, err := w.bulk(engine.Bulk{Filter: store.Filter{Table: dol}, Preview: true, Input: lifecycle.Resolve{Reason: "fixed"}})
	w.wantFields(err, nil, "filter")
	if many.acts > 0 {
		t.Errorf("it began all the same")
	}
}
