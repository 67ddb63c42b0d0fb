package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func letterReplayLists() []letterClause {
	return []letterClause{
		{"replays are listed newest first, by state, and when they are due", replayLists},
		{"the items of a replay are listed by outcome", replayItems},
		{"replays that ended long ago are purged with their items and notes", replayPurge},
	}
}

func replayLists(d *letterDriver) {
	var ids []recoup.ID
	for i := range 7 {
		r := d.replayOf()
		ids = append(ids, r.ID)
		if i%2 == 0 {
			d.steps(r.ID, d.to(recoup.ReplayRunning, 0))
		}
		d.wait(minute)
	}
	slices.Reverse(ids)
	list := func(state recoup.ReplayState) (got []recoup.ID) {
		for p := (sqldb.Page{Limit: 2}); ; {
			page, next, err := d.store.Replays(d.Context(), store.ReplayFilter{State: state}, p)
			d.must(err)
			for _, s := range page {
				got = append(got, s.ID)
			}
			if p.Cursor = next; next.IsZero() {
				return got
			}
		}
	}
	if got := list(""); !slices.Equal(got, ids) {
		d.Errorf("listed %v", got)
	}
	if got := list(recoup.ReplayRunning); !slices.Equal(got, []recoup.ID{ids[0], ids[2], ids[4], ids[6]}) {
		d.Errorf("running are %v", got)
	}
	of := d.replayOf()
	of.ID, of.Hub = d.id(), "sales"
	d.must(d.store.CreateReplay(d.Context(), of))
	if page, _, err := d.store.Replays(d.Context(), store.ReplayFilter{Hubs: []string{"sales", "people"}}, sqldb.Page{}); err != nil || len(page) != 1 || page[0].Replay != of {
		d.Errorf("of a hub are %+v (%v), want %+v", page, err, of)
	}
	due, err := d.store.DueReplays(d.Context(), d.now, 3)
	d.must(err)
	if !slices.Equal(due, []recoup.ID{ids[6], ids[4], ids[2]}) {
		d.Errorf("due are %v", due)
	}
	if due, err := d.store.DueReplays(d.Context(), Epoch().Add(-minute), 3); err != nil || len(due) > 0 {
		d.Errorf("due are %v, %v", due, err)
	}
}

func replayItems(d *letterDriver) {
	ids := d.deadMany(12, slow)
	d.validated(ids...)
	replay := d.replayed(8, ids...)
	d.ack(d.claim(5))
	for state, want := range map[recoup.ItemState]int{recoup.ItemPending: 4, recoup.ItemReleased: 3, recoup.ItemSucceeded: 5, recoup.ItemFailed: 0, "": 12} {
		items := d.items(replay, state)
		if len(items) != want {
			d.Errorf("%q: %d items, want %d", state, len(items), want)
		}
		if !slices.IsSortedFunc(items, func(a, b recoup.ReplayItem) int { return a.Position - b.Position }) {
			d.Errorf("%q: %+v", state, items)
		}
	}
}

func replayPurge(d *letterDriver) {
	ids := d.deadMany(6, slow)
	d.validated(ids...)
	old, open := d.replayed(3, ids[:3]...), d.replayed(0, ids[3:]...)
	d.ack(d.claim(3))
	d.steps(old, d.to(recoup.ReplayDone, 0))
	d.wait(time.Second)
	for _, want := range []int{2, 1, 0} {
		if n, err := d.store.PurgeReplays(d.Context(), d.now, 2); err != nil || n != want {
			d.Errorf("purged %d, want %d: %v", n, want, err)
		}
	}
	if _, err := d.store.Replay(d.Context(), old); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("a purged replay is answered with %v", err)
	}
	if notes := d.notes(recoup.Note{ReplayID: old}); len(notes) > 0 {
		d.Errorf("notes are left: %v", notes)
	}
	if n := len(d.items(open, "")); n != 3 || len(d.notes(recoup.Note{ReplayID: open})) == 0 {
		d.Errorf("of an open replay %d items are left", n)
	}
}
