package conformance

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func activityClauses() []alertClause {
	return []alertClause{
		{"what happens to errors is counted, by table", activityCounted},
		{"activity is summed up over any span, folded or not", activitySpans},
		{"activity is summed up by the hour, of all tables or of some", activityHours},
		{"nothing is counted twice or lost, however many write and fold at once", activityRace},
		{"what a refused item and a repeated request would count is not counted", activityRefused},
		{"activity of hours that are over is purged, and no other", activityPurged},
	}
}

// ever is a span in which everything happens.
func ever() store.Span {
	return store.Span{From: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (d *alertDriver) activity(span store.Span) []store.Activity {
	d.Helper()
	list, err := d.store.Activity(d.Context(), span)
	d.must(err)
	return list
}

func (d *alertDriver) wantActivity(span store.Span, want ...store.Activity) {
	d.Helper()
	wantSame(d.serviceDriver, d.activity(span), want)
	d.must(d.store.FoldActivity(d.Context()))
	wantSame(d.serviceDriver, d.activity(span), want)
}

// errors leads errors through their lives in the same store.
func (d *alertDriver) errors() *Driver { return NewDriver(d.TB, d.store) }

func activityCounted(d *alertDriver) {
	e := d.errors()
	d.wantActivity(ever())
	first := e.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	e.Report(target, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	claimed := e.ClaimDue(first)
	failed := e.Apply(claimed.ID, lifecycle.Fail{Token: claimed.LeaseToken, Failure: Failure("NETWORK_TIMEOUT")})
	e.WaitUntil(failed.NextRetryAt)
	lost := e.ClaimDue(failed)
	e.WaitUntil(lost.LeaseEndsAt)
	again := e.ClaimDue(lost) // which counts the lost worker
	e.Park(again.ID, "look")
	e.Apply(again.ID, lifecycle.Escalate{By: "ada", Reason: "help"})
	e.Apply(again.ID, lifecycle.Unpark{By: "ada", Reason: "mended"})
	done := e.ClaimDue(e.Read(again.ID))
	e.Apply(done.ID, lifecycle.Succeed{Token: done.LeaseToken})
	e.Archive(done.ID)
	expiring := e.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	repeat := e.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	e.WaitUntil(cmp.Or(repeat.ExpiresAt, expiring.ExpiresAt))
	e.Apply(repeat.ID, lifecycle.Expire{})
	d.wantActivity(ever(),
		store.Activity{Table: target, Reported: 1, NotParked: 1},
		store.Activity{Table: dol, Reported: 3, Parked: 1, Escalated: 1, Attempts: 3, Succeeded: 1, Archived: 3, Expired: 1, LeftPark: 1, Cleared: 1, Reviewed: 1,
			Retried: 2, NotParked: 2, LastParked: 1, Unparked: 1, Deescalated: 1})
	minute := store.Span{From: store.Minute(e.Now()), To: store.Minute(e.Now()).Add(time.Second)}
	d.wantActivity(minute, store.Activity{Table: dol, Archived: 1, Expired: 1})
	e.Check()
}

func activitySpans(d *alertDriver) {
	e := d.errors()
	draw := rand.New(rand.NewPCG(1, 2))
	begin := e.Now().Truncate(time.Hour)
	var at []time.Time
	for i := range 60 {
		e.WaitUntil(begin.Add(time.Duration(draw.IntN(300*60)) * time.Second))
		e.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium)
		at = append(at, store.Minute(e.Now()))
		if i%20 == 10 {
			d.must(d.store.FoldActivity(d.Context()))
		}
	}
	for range 40 {
		from := begin.Add(time.Duration(draw.IntN(300*60)) * time.Second)
		span := store.Span{From: from, To: from.Add(time.Duration(draw.IntN(200*60)) * time.Second)}
		var want []store.Activity
		for _, t := range at {
			if t.Before(span.From) || !t.Before(span.To) {
				continue
			}
			if want == nil {
				want = []store.Activity{{Table: dol}}
			}
			want[0].Reported++
			want[0].NotParked++
		}
		wantSame(d.serviceDriver, d.activity(span), want)
	}
}

func activityHours(d *alertDriver) {
	e := d.errors()
	begin := e.Now().Truncate(time.Hour)
	for i, table := range []string{dol, target, dol, people} {
		e.WaitUntil(begin.Add(time.Duration(i) * 40 * time.Minute))
		e.Report(table, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium)
	}
	d.must(d.store.FoldActivity(d.Context()))
	hour := func(i int, n int64) store.Activity {
		return store.Activity{Minute: begin.Add(time.Duration(i) * time.Hour), Reported: n, NotParked: n}
	}
	whole := store.Span{From: begin, To: begin.Add(24 * time.Hour)}
	for _, x := range []struct {
		tables []string
		span   store.Span
		want   []store.Activity
	}{
		{nil, whole, []store.Activity{hour(0, 2), hour(1, 1), hour(2, 1)}}, {[]string{dol}, whole, []store.Activity{hour(0, 1), hour(1, 1)}},
		{[]string{dol, people}, whole, []store.Activity{hour(0, 1), hour(1, 1), hour(2, 1)}}, {[]string{letters}, whole, nil},
		{nil, store.Span{From: begin.Add(time.Hour), To: begin.Add(2 * time.Hour)}, []store.Activity{hour(1, 1)}},
	} {
		got, err := d.store.ActivityHours(d.Context(), x.tables, x.span)
		d.must(err)
		wantSame(d.serviceDriver, got, x.want)
	}
}

// activityRace compares the counts with the history, from which they also follow.
func activityRace(d *alertDriver) {
	e := d.errors()
	d.together(6, func(i int) error {
		if i > 1 {
			return e.Churn(d.Context(), uint64(i), 12)
		}
		for range 10 {
			if err := d.store.FoldActivity(d.Context()); err != nil {
				return err
			}
			if err := d.store.FoldCounts(d.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	e.Check()
	want := store.Activity{Table: dol}
	for _, known := range e.Known() {
		rows, err := d.store.History(d.Context(), known.ID, sqldb.MaxPage)
		d.must(err)
		for _, row := range rows {
			countRow(&want, &row)
		}
	}
	for _, got := range d.activity(ever()) {
		got.Parked, got.Attempts, got.Reviewed = 0, 0, 0 // which cannot be read from one row
		d.wantMarked(&got, len(e.Known()))
		wantSame(d.serviceDriver, got, want)
	}
}

// wantMarked holds what is counted by marks to what holds for every error, and takes it away.
func (d *alertDriver) wantMarked(a *store.Activity, errors int) {
	d.Helper()
	one := []int64{a.Retried, a.Exhausted, a.NotParked, a.LastParked, a.Unparked, a.Deescalated}
	if slices.Min(one) < 0 || slices.Max(one) > int64(errors) || a.Unparked > a.LastParked || a.Deescalated > a.LastParked || a.Exhausted > a.Retried {
		d.Errorf("of %d errors are counted by marks: %+v", errors, a)
	}
	a.Retried, a.Exhausted, a.NotParked, a.LastParked, a.Unparked, a.Deescalated = 0, 0, 0, 0, 0, 0
}

func countRow(a *store.Activity, row *recoup.Transition) {
	if row.Before == row.After {
		return // a worker that came too late
	}
	switch lifecycle.Kind(row.Input) {
	case lifecycle.Reported:
		a.Reported++
	case lifecycle.Succeeded:
		a.Succeeded++
	case lifecycle.Resolving:
		a.Resolved++
	}
	if inPark(row.Before.State) && !inPark(row.After.State) && row.Actor == "ada" { // else it gives way to a repeat
		a.LeftPark++
		a.Cleared++
	}
	if row.After.State == recoup.Archived {
		a.Archived++
	}
	if row.Before.State == recoup.Parked && row.After.State == recoup.Escalated {
		a.Escalated++
	}
}

func inPark(s recoup.State) bool { return s == recoup.Parked || s == recoup.Escalated }

func activityRefused(d *alertDriver) {
	e := d.errors()
	first := e.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	if out := e.Try(first.ID, lifecycle.Unpark{By: "ada"}); out.Err == nil {
		d.Fatalf("it was unparked")
	}
	receipt := e.receipt("a", "x")
	e.reportOnce("e2", receipt)
	e.reportOnce("e2", receipt)
	d.wantActivity(ever(), store.Activity{Table: dol, Reported: 2, NotParked: 2})
}

func activityPurged(d *alertDriver) {
	e := d.errors()
	begin := e.Now().Truncate(time.Hour)
	for i := range 9 {
		e.WaitUntil(begin.Add(time.Duration(i) * 20 * time.Minute))
		e.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium)
	}
	d.must(d.store.FoldActivity(d.Context()))
	purge := func(before time.Time, limit, want int) {
		d.Helper()
		n, err := d.store.PurgeActivity(d.Context(), before, limit)
		if d.must(err); n != want {
			d.Fatalf("%d counts were purged, want %d", n, want)
		}
	}
	purge(begin.Add(59*time.Minute), 100, 0)
	purge(begin.Add(119*time.Minute), 2, 3)
	purge(begin.Add(119*time.Minute), 2, 1)
	purge(begin.Add(119*time.Minute), 2, 0)
	d.wantActivity(ever(), store.Activity{Table: dol, Reported: 6, NotParked: 6})
	d.wantActivity(store.Span{From: begin, To: begin.Add(61 * time.Minute)}, store.Activity{Table: dol, Reported: 1, NotParked: 1})
}
