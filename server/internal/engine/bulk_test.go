package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func (w *world) bulk(b engine.Bulk) (recoup.BulkResult, error) {
	return w.Engine.Bulk(w.Context(), ada, b)
}

// listed are the first errors that a filter selects.
func (w *world) listed(c engine.Caller, f store.Filter) (ids []recoup.ID) {
	found, _, err := w.Engine.Errors(w.Context(), c, f, sqldb.Page{Limit: sqldb.MaxPage})
	w.Must(err)
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return ids
}

// previewed acts on all errors, as a preview has shown them.
func (w *world) previewed(c engine.Caller, b engine.Bulk) (recoup.BulkResult, error) {
	if b.IDs = w.listed(c, store.Filter{}); len(b.IDs) == 0 {
		return recoup.BulkResult{}, nil
	}
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
		park := engine.Bulk{IDs: w.listed(ada, store.Filter{Table: dol}), Input: lifecycle.Park{Reason: "outage"}, Preview: true}

		preview, err := w.bulk(park)
		if err != nil || preview.Matched != 250 || preview.Applied != 249 || preview.NotDone != 1 || len(preview.Refused) != 1 || preview.Refused[0].ID != made[0].ID {
			w.Fatalf("preview %+v, %v", preview, err)
		}
		if e := w.Read(made[1].ID); e != made[1] {
			w.Errorf("a preview changed %s", e.State)
		}
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
			{"nothing", engine.Bulk{Input: resolve}, []string{"ids"}},
			{"too many ids", engine.Bulk{IDs: make([]recoup.ID, engine.MaxBulk+1), Input: resolve}, []string{"ids"}},
			{"a token that is none", engine.Bulk{Token: "AAAA", Input: resolve}, []string{"token"}},
			{"a token and ids", engine.Bulk{Token: "AAAA", IDs: []recoup.ID{{1}}, Input: resolve}, []string{"token"}},
			{"no reason", engine.Bulk{IDs: []recoup.ID{{1}}, Input: lifecycle.Resolve{}}, []string{"reason"}},
		} {
			_, err := w.bulk(row.b)
			w.wantFields(err, nil, row.want...)
		}
	})
}
