package adoption_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// slow are blockers that are read only while the advisory lock 7 is free.
func slow() postgres.Blockers {
	b := adoption.Blockers()
	return postgres.Blockers{Refused: b.Refused, Gate: func(entity string) string {
		return "select u.* from (select pg_advisory_xact_lock_shared(7)) w cross join lateral (" + b.Gate(entity) + ") u"
	}}
}

// waits waits until a session waits for a lock of a kind.
func (w *world) waits(kind string) {
	w.Helper()
	for range 500 {
		if w.ask("select count(*) from pg_locks where not granted and locktype = '"+kind+"' and (database is null or database = (select oid from pg_database where datname = current_database()))") != "0" {
			return
		}
		w.Must(retry.Sleep(w.Context(), 10*time.Millisecond))
	}
	w.Fatal("nobody waits for a lock")
}

// A gate that is read while a node hands over is closed: the changed row and its error are seen at
// one moment, and one of them is always there.
func TestGateIsReadAtOneMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.settle()
	reader := pgtest.OpenURL(t, strings.Replace(w.url, "recoup_owner@", "recoup_app@", 1))
	reader.AddBlockers(slow())
	w.exec("insert into shop.failures (order_id, kind) values ('o1', 'TIMEOUT')")
	for _, entities := range [][]string{{"o1"}, {"o2", "o1"}} {
		w.exec("select pg_advisory_lock(7)")
		blockers := make(chan [][]store.Blocker)
		go func() {
			found, err := reader.Blocking(t.Context(), entities, 100)
			if err != nil {
				t.Error(err)
			}
			blockers <- found
		}()
		w.waits("advisory")
		if w.settle(); w.ask("select count(*) from recoup.adopted_change") != "0" || w.ask("select count(*) from recoup.error where entity_id = 'o1' and blocking") != "1" {
			t.Error("the node has not handed over")
		}
		w.exec("select pg_advisory_unlock(7)")
		if found := <-blockers; len(found) != len(entities) || len(found[len(found)-1]) != 1 || !found[len(found)-1][0].ID.IsZero() {
			t.Errorf("%v: blocked by %+v", entities, found)
		}
		w.exec("update shop.failures set status = 'done'")
		w.settle()
		w.exec("update shop.failures set status = 'open'")
	}
}

// A promotion that meets the handover waits for it, and is refused because of the error.
func TestPromotionWaitsForTheHandover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.exec("insert into shop.failures (order_id, kind) values ('o1', 'TIMEOUT')")
	p := store.Promotion{ID: recoup.ID{1}, Entity: "o1", Phase: "next", By: "ada"}
	if _, found, err := w.db.Promote(t.Context(), p); !errors.Is(err, store.ErrBlocked) || len(found) != 1 || !found[0].ID.IsZero() || found[0].Table != "outreach.dol_errors" {
		t.Errorf("an unread change: %+v, %v", found, err)
	}
	w.exec("begin; insert into outreach.dol_errors (outreach_id, code) values ('o1', 'TIMEOUT'); delete from recoup.adopted_change; delete from recoup.adopted_entity")
	type answer struct {
		blockers []recoup.Error
		err      error
	}
	answered := make(chan answer)
	go func() {
		_, found, err := w.db.Promote(t.Context(), p)
		answered <- answer{found, err}
	}()
	w.waits("relation")
	w.exec("commit")
	if a := <-answered; !errors.Is(a.err, store.ErrBlocked) || len(a.blockers) != 1 || a.blockers[0].ID.IsZero() {
		t.Errorf("the error of the change: %+v, %v", a.blockers, a.err)
	}
}

// A program without the slice is refused all the same, and does not ask for ever.
func TestUnknownBlockersRefuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.exec("insert into shop.failures (order_id, kind) values ('o1', 'TIMEOUT')")
	bare := pgtest.OpenURL(t, strings.Replace(w.url, "recoup_owner@", "recoup_app@", 1))
	if _, _, err := bare.Promote(t.Context(), store.Promotion{ID: recoup.ID{1}, Entity: "o1", Phase: "next", By: "ada"}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("got %v", err)
	}
}
