package conformance

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func movingClauses() []serviceClause {
	return []serviceClause{{"an operation that has changed has another mark, and no more are read than may be", movingOperation}}
}

func movingAlerts() []alertClause {
	return []alertClause{{"an alert that fires or resolves and a silence that is ended have other marks", movingAlert}}
}

func movingLetters() []letterClause {
	return []letterClause{{"dead letters, groups and replays that something was done to have other marks", movingLetter}}
}

// marks are what tells that things of a kind have changed, by their ids: of what is read,
// the newest.
func marks(tb TB, from store.ChangeReader, kind recoup.IDKind, limit int) map[recoup.ID]store.Moving {
	tb.Helper()
	list, err := from.Moving(tb.Context(), limit)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	found := map[recoup.ID]store.Moving{}
	for _, m := range list {
		if _, older := found[m.ID]; m.Kind == kind && !older {
			found[m.ID] = m
		}
	}
	return found
}

// wantMoved says that a thing must have another mark than it had.
func wantMoved(tb TB, from store.ChangeReader, kind recoup.IDKind, id recoup.ID, of string, do func()) {
	tb.Helper()
	before := marks(tb, from, kind, 10)[id]
	if again := marks(tb, from, kind, 10)[id]; again != before {
		tb.Errorf("of %s nothing was done, and its mark is %+v, then %+v", kind, before, again)
	}
	do()
	if after := marks(tb, from, kind, 10)[id]; after.ID != id || after.Of != of || after.Mark == before.Mark {
		tb.Errorf("of %s something was done: it was %+v, and is %+v", kind, before, after)
	}
}

func movingOperation(d *serviceDriver) {
	first := d.operation("ada")
	first.Hub = "sales"
	moved := func(do func()) {
		d.Helper()
		wantMoved(d, d.store, recoup.OperationIDs, first.ID, "sales", do)
	}
	moved(func() { d.addOperation(first) })
	e := NewDriver(d.TB, d.store).Report(dol, "e1", "NETWORK_TIMEOUT", "")
	moved(func() { d.must(d.store.AddOperationItems(d.Context(), first.ID, members([]recoup.Error{e}))) })
	d.wait(time.Minute)
	moved(func() { d.operationStep(first.ID, func(o *recoup.Operation) { o.State = recoup.OperationFrozen }) })
	for range 3 {
		d.wait(time.Minute)
		d.addOperation(d.operation("bob"))
	}
	if got := marks(d, d.store, recoup.OperationIDs, 2); len(got) != 2 || !got[first.ID].ID.IsZero() {
		d.Errorf("of the newest two there are %v", got)
	}
}

func movingAlert(d *alertDriver) {
	a := d.alert("r", "s")
	moved := func(kind recoup.IDKind, id recoup.ID, do func()) {
		d.Helper()
		wantMoved(d, d.store, kind, id, "", do)
	}
	moved(recoup.AlertIDs, a.ID, func() { d.must(d.save(a)) })
	d.wait(time.Minute)
	moved(recoup.AlertIDs, a.ID, func() { a = d.fires(a); d.must(d.save(a)) })
	d.wait(time.Minute)
	moved(recoup.AlertIDs, a.ID, func() { d.must(d.save(d.resolves(a))) })
	s := d.silence("r", "", 4)
	moved(recoup.SilenceIDs, s.ID, func() { d.silenced(s) })
	moved(recoup.SilenceIDs, s.ID, func() {
		_, err := d.store.EndSilence(d.Context(), s.ID, d.act("bob"))
		d.must(err)
	})
}

func movingLetter(d *letterDriver) {
	l := d.dead(slow).Dead
	moved := func(kind recoup.IDKind, id recoup.ID, of string, do func()) {
		d.Helper()
		wantMoved(d, d.store, kind, id, of, do)
	}
	moved(recoup.DeadLetterIDs, l.ErrorID, criticizer, func() { d.validated(l.ErrorID) })
	moved(recoup.DeadLetterGroupIDs, l.GroupID, criticizer, func() {
		_, err := d.store.StepGroup(d.Context(), l.GroupID, func(g recoup.DeadLetterGroup) (recoup.DeadLetterGroup, []recoup.Note, error) {
			g.Owner = "ada"
			return g, []recoup.Note{{GroupID: g.ID, Step: "ASSIGNED", Actor: "ada", At: d.now}}, nil
		})
		d.must(err)
	})
	replay := d.replayed(1, l.ErrorID)
	d.wait(time.Hour)
	moved(recoup.ReplayIDs, replay, "", func() { // its member fails again
		again := slow
		again.Token = d.claim(1)[0].LeaseToken
		_, err := d.stepWork(l.WorkID, d.fail(l.WorkID, again))
		d.must(err)
	})
}
