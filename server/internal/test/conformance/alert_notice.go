package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func noticeClauses() []alertClause {
	return []alertClause{
		{"notices are listed newest first, by state, recipient and kind", noticeListed},
		{"what was given up is requeued as another notice, once", noticeResent},
		{"of eight who requeue one notice, one does", noticeResendRace},
		{"the outbox says how much waits, since when, and how much was given up", outboxLevels},
	}
}

// notices walks the list of notices.
func (d *alertDriver) notices(f wire.NoticeFilter, limit int) []wire.Notice {
	d.Helper()
	return walked(d.serviceDriver, func(c sqldb.Cursor) ([]wire.Notice, sqldb.Cursor, error) {
		return d.store.Notices(d.Context(), f, sqldb.Page{Cursor: c, Limit: limit})
	}, sqldb.Cursor.IsZero)
}

// posted adds notices of which every third is delivered, every third given up
// and every third waits, and returns all, newest first.
func (d *alertDriver) posted(n int) []wire.Notice {
	d.Helper()
	for i := range n {
		kind, to := wire.NoticeKind([]string{"ALERT", "PARKED"}[i%2]), []string{"ops", "team"}[i/2%2]
		_, err := d.store.AddNotices(d.Context(), d.now, []wire.Notice{{Kind: kind, To: to, Key: fmt.Sprint("k", i), Body: `{"a": 1}`}})
		d.must(err)
		d.wait(time.Duration(i%3) * time.Second)
	}
	all := d.notices(wire.NoticeFilter{}, sqldb.MaxPage)
	slices.Reverse(all)
	list, err := d.store.ClaimNotices(d.Context(), d.now, noticeLease, sqldb.MaxPage)
	if d.must(err); len(list) != n || len(all) != n {
		d.Fatalf("%d of %d notices were claimed", len(list), len(all))
	}
	for i := range all {
		r := &all[i]
		r.Attempts, r.DueAt = 1, d.now.Add(noticeLease)
		switch i % 3 {
		case 0:
			d.finish(1, store.Delivery{ID: r.ID, Attempt: 1, Delivered: true})
			r.DueAt, r.DeliveredAt = time.Time{}, d.now
		case 1:
			d.finish(1, store.Delivery{ID: r.ID, Attempt: 1, Error: "no such address"})
			r.DueAt, r.GivenUpAt, r.LastError = time.Time{}, d.now, "no such address"
		}
	}
	slices.Reverse(all)
	return all
}

func noticeListed(d *alertDriver) {
	all := d.posted(20)
	for _, f := range []wire.NoticeFilter{
		{}, {State: wire.NoticeWaiting}, {State: wire.NoticeDelivered}, {State: wire.NoticeGivenUp}, {State: "ODD"},
		{To: "ops"}, {Kind: "PARKED"}, {State: wire.NoticeGivenUp, To: "team", Kind: "ALERT"}, {To: "nobody"},
	} {
		var want []wire.Notice
		for _, r := range all {
			if (f.State == "" || f.State == r.Outcome()) && (f.To == "" || f.To == r.To) && (f.Kind == "" || f.Kind == r.Kind) {
				want = append(want, r)
			}
		}
		wantSame(d.serviceDriver, d.notices(f, 3), want)
		wantSame(d.serviceDriver, d.notices(f, sqldb.MaxPage), want)
	}
}

// resend says how many notices must be requeued.
func (d *alertDriver) resend(want int, ids ...recoup.ID) {
	d.Helper()
	n, err := d.store.ResendNotices(d.Context(), ids, d.act("ada"))
	if d.must(err); n != want {
		d.Fatalf("%d were put in again, want %d", n, want)
	}
}

func noticeResent(d *alertDriver) {
	all := d.posted(3)
	waits, old, delivered := all[0], all[1], all[2]
	d.wait(time.Hour)
	d.resend(0)
	d.resend(1, waits.ID, old.ID, delivered.ID, d.ids.New(d.now), old.ID)
	d.resend(0, old.ID)
	again := d.notices(wire.NoticeFilter{}, 10)[0]
	wantSame(d.serviceDriver, again, wire.Notice{
		ID: again.ID, CreatedAt: d.now, DueAt: d.now, ResendOf: old.ID,
		Kind: old.Kind, To: old.To, ErrorID: old.ErrorID, Body: old.Body, Key: store.ResendKey(old.ID),
	})
	acts := d.wantActs("ada notice.resend " + old.ID.String())
	wantSame(d.serviceDriver, acts[0].Details, recoup.EncodeJSON(map[string]any{"as": again.ID.String()}))
	d.wait(noticeLease)
	for _, n := range d.claimed(10, waits.Key, again.Key) {
		d.finish(1, store.Delivery{ID: n.ID, Attempt: n.Attempts})
	}
	d.resend(2, waits.ID, again.ID) // what is given up again is another notice that was given up
	third := d.notices(wire.NoticeFilter{State: wire.NoticeWaiting}, 10)
	if len(third) != 2 || third[0].ResendOf != again.ID && third[1].ResendOf != again.ID {
		d.Errorf("what waits is %+v", third)
	}
}

func noticeResendRace(d *alertDriver) {
	all := d.posted(3)
	d.together(8, func(int) error {
		_, err := d.store.ResendNotices(d.Context(), []recoup.ID{all[1].ID}, d.act("ada"))
		return err
	})
	d.wantActs("ada notice.resend " + all[1].ID.String())
	d.pending(2)
}

func outboxLevels(d *alertDriver) {
	want := func(level store.OutboxLevel) {
		d.Helper()
		got, err := d.store.OutboxLevels(d.Context())
		d.must(err)
		wantSame(d.serviceDriver, got, level)
	}
	want(store.OutboxLevel{})
	d.enqueue("a", "b", "c")
	first := d.now.Add(-3 * time.Microsecond)
	want(store.OutboxLevel{Waiting: 3, OldestDue: first})
	n := d.claimed(1, "a")[0]
	want(store.OutboxLevel{Waiting: 3, OldestDue: first.Add(time.Microsecond)})
	d.finish(1, store.Delivery{ID: n.ID, Attempt: 1})
	want(store.OutboxLevel{Waiting: 2, OldestDue: first.Add(time.Microsecond), GivenUp: 1})
}
