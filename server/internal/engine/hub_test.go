package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// A key that is for one hub reaches nothing of another.
func TestHubRestrictedCallers(t *testing.T) {
	everywhere(t, func(w *world) {
		ctx, filer := w.Context(), engine.Caller{Name: "filer", Hubs: []string{"dol-filings"}}
		made := w.Report(
			failing(dol, "e1", "NETWORK_TIMEOUT"), failing(people, "e1", "NETWORK_TIMEOUT"),
			recoup.Report{Table: dol, EntityID: "e2", Code: "NETWORK_TIMEOUT", Severity: recoup.Critical},
			recoup.Report{Table: people, EntityID: "e2", Code: "NETWORK_TIMEOUT", Severity: recoup.Critical},
		)
		mine, theirs := made[0], made[1]
		forbidden := func(what string, err error) {
			w.Helper()
			if !errors.Is(err, engine.ErrForbidden) {
				w.Errorf("%s: %v", what, err)
			}
		}

		found, err := w.Engine.Error(ctx, filer, theirs.ID)
		if forbidden("show", err); found != (recoup.Error{}) {
			w.Errorf("shown all the same")
		}
		_, err = w.Engine.History(ctx, filer, theirs.ID, 10)
		forbidden("history", err)
		_, err = w.Engine.Explain(ctx, filer, theirs.ID)
		forbidden("explain", err)
		_, err = w.Engine.One(ctx, filer, engine.Act{ID: theirs.ID, Input: lifecycle.Resolve{Reason: "mine?"}})
		forbidden("act", err)
		_, _, err = w.Engine.Errors(ctx, filer, store.Filter{Table: people}, sqldb.Page{})
		forbidden("list", err)
		_, _, err = w.Engine.ParkQueue(ctx, filer, []string{dol, people}, sqldb.Page{})
		forbidden("park queue", err)
		_, _, err = w.Engine.Archived(ctx, filer, people, sqldb.Page{})
		forbidden("archive", err)
		_, err = w.Engine.Claim(ctx, filer, recoup.RetryClaim{Tables: []string{people}, Worker: "w1", Limit: 1})
		forbidden("claim", err)
		out, err := w.Engine.Report(ctx, filer, []recoup.Report{failing(people, "e3", "NETWORK_TIMEOUT"), failing("no.such_table", "e3", "NETWORK_TIMEOUT")})
		if err != nil {
			w.Fatal(err)
		}
		forbidden("report", out[0].Err)
		forbidden("orphan", out[1].Err)
		r, err := w.Engine.Bulk(ctx, filer, engine.Bulk{IDs: []recoup.ID{theirs.ID}, Input: lifecycle.Resolve{Reason: "mine?"}})
		if err != nil || r.Applied > 0 {
			w.Fatal(r, err)
		}
		forbidden("bulk", r.Refused[0].Err)
		if w.Read(theirs.ID) != theirs {
			w.Errorf("it changed")
		}
		w.ownHub(filer, mine, made[2])
	})
}

// ownHub tries what a key that is for the hub may do.
func (w *world) ownHub(filer engine.Caller, mine, parked recoup.Error) {
	w.Helper()
	ctx := w.Context()
	ids := func(list []recoup.Error, _ sqldb.Cursor, err error) (got []recoup.ID) {
		if err != nil {
			w.Error(err)
		}
		for _, e := range list {
			got = append(got, e.ID)
		}
		return got
	}
	if got := ids(w.Engine.Errors(ctx, filer, store.Filter{}, sqldb.Page{})); len(got) != 2 {
		w.Errorf("lists %v", got)
	}
	if got := ids(w.Engine.ParkQueue(ctx, filer, nil, sqldb.Page{})); !slices.Equal(got, []recoup.ID{parked.ID}) {
		w.Errorf("parked %v", got)
	}
	counts, err := w.Engine.Counts(ctx, filer)
	if err != nil || slices.ContainsFunc(counts, func(c recoup.StateCount) bool { return c.Table != dol }) || len(counts) != 2 {
		w.Errorf("counts %v, %v", counts, err)
	}
	if all, err := w.Engine.Counts(ctx, ada); err != nil || len(all) != 4 {
		w.Errorf("all counts %v, %v", all, err)
	}
	w.Wait(2 * time.Second)
	claimed, err := w.Engine.Claim(ctx, filer, recoup.RetryClaim{Worker: "w1", Limit: 10})
	if err != nil || len(claimed) != 1 || claimed[0].ID != mine.ID {
		w.Fatalf("claimed %d, %v", len(claimed), err)
	}
	r, err := w.previewed(filer, engine.Bulk{Input: lifecycle.ArchiveNow{Reason: "done"}})
	if err != nil || r.Applied != 2 || r.Matched != 2 {
		w.Errorf("bulk %+v, %v", r, err)
	}
	if got := ids(w.Engine.Archived(ctx, filer, dol, sqldb.Page{})); len(got) != 2 {
		w.Errorf("archived %v", got)
	}
	stranger := engine.Caller{Name: "stranger", Hubs: []string{"no-such-hub"}}
	if got := ids(w.Engine.Errors(ctx, stranger, store.Filter{}, sqldb.Page{})); len(got) > 0 {
		w.Errorf("a stranger lists %v", got)
	}
	if got := ids(w.Engine.ParkQueue(ctx, stranger, nil, sqldb.Page{})); len(got) > 0 {
		w.Errorf("a stranger's park %v", got)
	}
	if claimed, err := w.Engine.Claim(ctx, stranger, recoup.RetryClaim{Worker: "w1", Limit: 1}); err != nil || len(claimed) > 0 {
		w.Errorf("a stranger claims %d, %v", len(claimed), err)
	}
}
