package conformance

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func overdueClauses() []serviceClause {
	return []serviceClause{
		{"what is overdue is counted as far as it is asked for, since the first of it", overdueCounts},
		{"what is kept for a time is overdue when that is over, and gone once it is deleted", overdueKept},
	}
}

// checkOverdue compares what is overdue with what is due, on a store that reports it.
func (d *Driver) checkOverdue(due deadline, now time.Time, ids []recoup.ID) {
	d.Helper()
	s, ok := d.Store.(store.Housekeeper)
	if !ok {
		return
	}
	got, err := s.Overdue(d.Context(), due.kind, now, sqldb.MaxPage)
	if err != nil {
		d.Fatalf("%s: %v", due.kind, err)
	}
	want := store.Overdue{N: len(ids)}
	if len(ids) > 0 {
		first, _ := d.Expected(ids[0])
		want.Since = due.at(&first)
	}
	if got.N != want.N || !got.Since.Equal(want.Since) {
		d.Errorf("overdue by %s at %v: %+v, want %+v", due.kind, now, got, want)
	}
}

func (d *serviceDriver) wantOverdue(kind store.Deadline, limit, n int, since time.Time) {
	d.Helper()
	got, err := d.store.Overdue(d.Context(), kind, d.now, limit)
	d.must(err)
	if got.N != n || !got.Since.Equal(since) {
		d.Fatalf("%s at %v: %+v, want %d since %v", kind, d.now, got, n, since)
	}
}

func overdueCounts(d *serviceDriver) {
	hour := store.Hour(d.now)
	for i := range 3 {
		at := hour.Add(time.Duration(i) * time.Hour)
		d.must(d.store.AddProcessed(d.Context(), []store.Processed{{Minute: at, Service: "s", N: 1}}))
	}
	d.now = hour
	d.wantOverdue(store.DueProcessed, 10, 0, time.Time{})
	d.wait(time.Microsecond)
	d.wantOverdue(store.DueProcessed, 10, 1, hour)
	d.wait(5 * time.Hour)
	d.wantOverdue(store.DueProcessed, 10, 3, hour)
	d.wantOverdue(store.DueProcessed, 2, 2, hour)
	if _, err := d.store.Overdue(d.Context(), "nothing", d.now, 1); err == nil {
		d.Error("what there is not is overdue")
	}
	for _, kind := range []store.Deadline{
		store.DueExpiry, store.DueWindow, store.DueLapse, store.DueEscalation, store.DueReminder, store.DueResolved,
		store.DuePurge, store.DueReceipt, store.DueNotice, store.DueHourly, store.DueDaily,
	} {
		d.wantOverdue(kind, 10, 0, time.Time{})
	}
}

func overdueKept(d *serviceDriver) {
	added, err := d.store.AddNotices(d.Context(), d.now, []wire.Notice{{Kind: wire.NoticePaged, To: "team"}})
	if d.must(err); added != 1 {
		d.Fatalf("%d added", added)
	}
	d.wait(time.Hour)
	d.wantOverdue(store.DueNotice, 10, 0, time.Time{}) // it waits
	taken, err := d.store.ClaimNotices(d.Context(), d.now, time.Minute, 10)
	d.must(err)
	_, err = d.store.FinishNotices(d.Context(), d.now, []store.Delivery{{ID: taken[0].ID, Attempt: taken[0].Attempts, Delivered: true}})
	d.must(err)
	ended := d.now
	d.wantOverdue(store.DueNotice, 10, 0, time.Time{})
	d.wait(time.Second)
	d.wantOverdue(store.DueNotice, 10, 1, ended)
	_, err = d.store.PurgeNotices(d.Context(), d.now, 10)
	d.must(err)
	d.wantOverdue(store.DueNotice, 10, 0, time.Time{})
}
