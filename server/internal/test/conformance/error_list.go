package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func lists() []clause {
	return []clause{
		{"every combination of filters lists what fits, newest first, on pages of any size", filters},
		{"a cursor walks every row exactly once while others are written", cursorWalks},
		{"a page has a hundred rows by default, and never more than a thousand", pageSize},
		{"the park queue is for those who wait longest", parkQueue},
		{"an archive is listed last archived first, each table for itself", archiveList},
		{"the history of an error is listed from the beginning, up to a limit", historyOrder},
		{"blockers are named oldest first, up to a limit", blockingOrder},
		{"notices wait longest due first, up to a limit", noticeOrder},
		{"counts are what counting gives, before and after they are folded", counts},
	}
}

func cursorWalks(d *Driver) {
	var before []recoup.ID
	for i := range 30 {
		before = append(before, d.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium).ID)
		if i%7 == 0 {
			d.Wait(time.Second)
		}
	}
	n := 0
	got := ids(walk(d, 4, func(ctx context.Context, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
		n++
		d.Report(dol, fmt.Sprint("new", n), "NETWORK_TIMEOUT", recoup.Medium)
		if n%2 == 0 {
			d.Wait(time.Second)
		}
		return d.Store.Errors(ctx, store.Filter{Table: dol}, p)
	}))
	seen := map[recoup.ID]int{}
	for _, id := range got {
		seen[id]++
	}
	for id, times := range seen {
		if times > 1 {
			d.Errorf("%v was listed %d times", id, times)
		}
	}
	for _, id := range before {
		if seen[id] == 0 {
			d.Errorf("%v was not listed", id)
		}
	}
}

func pageSize(d *Driver) {
	var batch []lifecycle.Report
	for i := range sqldb.MaxPage + 1 {
		batch = append(batch, d.Failing(errorLog, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium))
	}
	d.ReportAll(batch...)
	for limit, want := range map[int]int{0: 100, 1: 1, 100: 100, sqldb.MaxPage: sqldb.MaxPage, sqldb.MaxPage + 1: sqldb.MaxPage, 1 << 30: sqldb.MaxPage} {
		list, next, err := d.Store.Errors(d.Context(), store.Filter{}, sqldb.Page{Limit: limit})
		if err != nil || len(list) != want || next.IsZero() {
			d.Errorf("a page of %d has %d rows, and then %v, %v", limit, len(list), next, err)
		}
	}
}

func (d *Driver) queue(limit int, tables ...string) []recoup.Error {
	d.Helper()
	return walk(d, limit, func(ctx context.Context, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
		return d.Store.ParkQueue(ctx, tables, p)
	})
}

func parkQueue(d *Driver) {
	a := d.Report(dol, "a", "NETWORK_TIMEOUT", recoup.Medium)
	b := d.Report(dol, "b", "NETWORK_TIMEOUT", recoup.Medium)
	c := d.Report(people, "c", "NETWORK_TIMEOUT", recoup.Medium)
	waiting := d.Report(dol, "waiting", "NETWORK_TIMEOUT", recoup.Medium)
	for _, e := range []recoup.Error{c, b, waiting, a} {
		d.Wait(time.Second)
		d.Park(e.ID, "look")
	}
	d.Apply(waiting.ID, lifecycle.Unpark{By: "ada"})
	d.Apply(b.ID, lifecycle.Escalate{By: "ada"})
	tie := d.Report(dol, "tie", "NETWORK_TIMEOUT", recoup.Critical)
	for limit := range 5 {
		d.wantIDs(d.queue(limit+1, dol), b.ID, a.ID, tie.ID)
		d.wantIDs(d.queue(limit+1, dol, people, target), c.ID, b.ID, a.ID, tie.ID)
	}
	d.wantIDs(d.queue(10, target))
}

func archiveList(d *Driver) {
	list := d.each(6)
	other := d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	for _, i := range []int{3, 0, 5} {
		d.Archive(list[i].ID)
		d.Wait(time.Second)
	}
	d.Archive(list[4].ID)
	d.Archive(list[1].ID) // in the same moment: by id
	d.Archive(other.ID)
	for limit := range 6 {
		got := walk(d, limit+1, func(ctx context.Context, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
			return d.Store.Archived(ctx, dol, p)
		})
		d.wantIDs(got, list[4].ID, list[1].ID, list[5].ID, list[0].ID, list[3].ID)
	}
	d.Check()
}

func historyOrder(d *Driver) {
	e := retrying(d)
	want := []string{"report"}
	for i := range 20 {
		d.Apply(e.ID, lifecycle.Park{By: "ada", Reason: "look"})
		d.Apply(e.ID, lifecycle.Unpark{By: "ada"})
		want = append(want, "park", "unpark")
		if i%3 == 0 {
			d.Wait(minute)
		}
	}
	d.wantHistory(e.ID, want...)
	rows, err := d.Store.History(d.Context(), e.ID, 4)
	if err != nil || len(rows) != 4 || rows[0].Input != "report" || rows[3].Input != "park" {
		d.Errorf("the first four rows: %+v, %v", rows, err)
	}
	d.Check()
}

func blockingOrder(d *Driver) {
	var want []recoup.ID
	for _, table := range []string{people, dol, target} {
		want = append(want, d.Report(table, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID)
		d.Report(table, "e2", "NETWORK_TIMEOUT", recoup.Medium)
		d.Wait(time.Second)
	}
	d.Report(discovery, "e1", "NETWORK_TIMEOUT", recoup.High)
	for _, limit := range []int{2, 10} {
		got, err := d.Store.Blocking(d.Context(), []string{"e3", "e1", "e2", "e1"}, limit)
		if err != nil || len(got) != 4 || len(got[0]) != 0 || len(got[2]) != min(limit, len(want)) {
			d.Fatalf("blocking: %+v, %v", got, err)
		}
		for _, again := range []int{1, 3} {
			if list := blockerIDs(got[again]); !slices.Equal(list, want[:min(limit, len(want))]) {
				d.Errorf("e1 is blocked by %v, want the first %d of %v", list, limit, want)
			}
		}
	}
	d.Check()
}

func noticeOrder(d *Driver) {
	for i := range 4 {
		d.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Critical)
		d.Wait(time.Second)
	}
	first, err := d.Store.PendingNotices(d.Context(), 2)
	if err != nil || len(first) != 2 {
		d.Fatalf("%d notices, %v", len(first), err)
	}
	for i, n := range first {
		at := Epoch().Add(time.Duration(i) * time.Second)
		if !n.DueAt.Equal(at) || !n.CreatedAt.Equal(at) || n.Attempts != 0 || n.Kind != wire.NoticeParked || n.To != "dol-filings-team" {
			d.Errorf("notice %d is %+v", i, n)
		}
	}
	d.Check()
}

func counts(d *Driver) {
	for round := range 4 {
		d.live(seeded(uint64(round)), 60)
		d.checkCounts()
		if err := d.Store.FoldCounts(d.Context()); err != nil {
			d.Fatalf("fold: %v", err)
		}
		d.checkCounts()
	}
	for _, e := range d.List(store.Filter{}) {
		if e.Table != masterLog {
			d.Archive(e.ID)
		}
	}
	d.Check()
	d.together(4, func(int) error { return d.Store.FoldCounts(d.Context()) })
	d.Check()
}
