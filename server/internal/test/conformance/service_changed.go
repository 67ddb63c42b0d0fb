package conformance

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func changedClauses() []serviceClause {
	return []serviceClause{
		{"what happened to errors since a mark is told once, with the state then", changedSince},
		{"a look at what happened reads no more than it may", changedBounded},
	}
}

// changes reads what has happened since a mark, oldest first, without what was seen.
func (d *serviceDriver) changes(mark store.ChangeMark, seen map[int64]bool) (fresh []wire.Changed, next store.ChangeMark) {
	d.Helper()
	list, next, err := d.store.Changed(d.Context(), mark, []string{dol}, 100)
	d.must(err)
	for i := len(list) - 1; i >= 0; i-- {
		if !seen[list[i].Seq] {
			fresh = append(fresh, list[i].Changed)
		}
		seen[list[i].Seq] = true
	}
	return fresh, next
}

func changedSince(d *serviceDriver) {
	errors, seen := NewDriver(d.TB, d.store), map[int64]bool{}
	errors.Report(dol, "before", "NETWORK_TIMEOUT", "")
	errors.Wait(time.Hour)
	mark, err := d.store.ChangeMark(d.Context(), errors.Now())
	d.must(err)
	fresh, mark := d.changes(mark, seen)
	wantSame(d, fresh, nil)

	e := errors.Report(dol, "e1", "NETWORK_TIMEOUT", "")
	fresh, mark = d.changes(mark, seen)
	wantSame(d, fresh, []wire.Changed{{ErrorID: e.ID, Table: dol, State: recoup.RetryPending}})
	fresh, mark = d.changes(mark, seen)
	wantSame(d, fresh, nil)

	errors.Wait(time.Hour)
	errors.Park(e.ID, "DATA_QUALITY")
	fresh, mark = d.changes(mark, seen)
	wantSame(d, fresh, []wire.Changed{{ErrorID: e.ID, Table: dol, State: recoup.Parked}})
	errors.Wait(time.Hour)
	errors.Archive(e.ID)
	fresh, mark = d.changes(mark, seen)
	wantSame(d, fresh, []wire.Changed{{ErrorID: e.ID, Table: dol, State: recoup.Archived}})
	errors.Wait(time.Hour)
	fresh, _ = d.changes(mark, seen)
	wantSame(d, fresh, nil)
}

func changedBounded(d *serviceDriver) {
	errors := NewDriver(d.TB, d.store)
	mark, err := d.store.ChangeMark(d.Context(), errors.Now().Add(-time.Hour))
	d.must(err)
	var last recoup.Error
	for _, entity := range []string{"a", "b", "c", "d", "e"} {
		last = errors.Report(dol, entity, "NETWORK_TIMEOUT", "")
		errors.Wait(time.Second)
	}
	list, next, err := d.store.Changed(d.Context(), mark, []string{dol}, 2)
	d.must(err)
	if len(list) != 2 || list[0].ErrorID != last.ID || !next.At.Equal(list[0].At) {
		d.Fatalf("it tells %+v, and goes on from %+v", list, next)
	}
}
