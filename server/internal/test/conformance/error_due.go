package conformance

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func deadlines() []clause {
	return []clause{
		{"what is claimed and what is due is exactly what the state machine accepts", dueIsExact},
		{"deadlines come longest overdue first, and no more than asked for", dueOrder},
		{"an expiry waits for a live lease, but not for ever", dueExpiryLeased},
	}
}

// deadline is a kind of deadline, the moment it names, and the input that a
// sweep answers it with.
type deadline struct {
	kind  store.Deadline
	at    func(*recoup.Error) time.Time
	input lifecycle.Input
}

func allDeadlines() []deadline {
	return []deadline{
		{store.DueExpiry, func(e *recoup.Error) time.Time { return e.ExpiresAt }, lifecycle.Expire{}},
		{store.DueWindow, func(e *recoup.Error) time.Time { return e.WindowEndsAt }, lifecycle.CloseWindow{}},
		{store.DueLapse, func(e *recoup.Error) time.Time { return e.LeaseEndsAt }, lifecycle.Lapse{}},
		{store.DueEscalation, func(e *recoup.Error) time.Time { return e.NextEscalationAt }, lifecycle.Escalate{}},
		{store.DueReminder, func(e *recoup.Error) time.Time { return e.NextReminderAt }, lifecycle.Remind{}},
		{store.DueResolved, func(e *recoup.Error) time.Time { return e.ResolvedAt }, lifecycle.ArchiveNow{}},
	}
}

// is reports whether a deadline of the error has come: the state machine takes
// its input. Everything can be archived by hand; only what is resolved is due
// to be.
func (d *Driver) is(due deadline, e *recoup.Error, now time.Time) bool {
	_, _, err := lifecycle.Step(d.Policy, e, due.input, now)
	return err == nil && (due.kind != store.DueResolved || e.State == recoup.Resolved && !now.Before(e.ResolvedAt))
}

func dueIsExact(d *Driver) {
	rapid.Check(d.TB, func(t *rapid.T) {
		x := d.anew(t)
		x.live(drawn(t), rapid.IntRange(1, 25).Draw(t, "events"))
		known := x.Known()
		e := known[rapid.IntRange(0, len(known)-1).Draw(t, "whose moments")]
		for _, due := range allDeadlines() {
			x.checkDue(due, x.Now())
			if at := due.at(&e); !at.IsZero() {
				x.checkDue(due, at.Add(-time.Microsecond))
				x.checkDue(due, at)
				x.checkDue(due, at.Add(time.Microsecond))
			}
		}
		x.checkClaim()
		x.CheckErrors()
	})
}

func (d *Driver) due(kind store.Deadline, now time.Time, limit int) []recoup.ID {
	d.Helper()
	return d.dueBehind(kind, now, 0, limit)
}

func (d *Driver) dueBehind(kind store.Deadline, now time.Time, skip, limit int) []recoup.ID {
	d.Helper()
	list, err := d.Store.Due(d.Context(), kind, now, skip, limit)
	if err != nil {
		d.Fatalf("%s: %v", kind, err)
	}
	return list
}

// checkDue compares what is due at some time, past or to come, with what the
// state machine would accept then.
func (d *Driver) checkDue(due deadline, now time.Time) {
	d.Helper()
	got := d.due(due.kind, now, sqldb.MaxPage)
	var want []recoup.ID
	for _, e := range d.Known() {
		leased := due.kind == store.DueExpiry && e.State == recoup.RetryPending && e.Leased(now) && !now.Before(e.ExpiresAt)
		if d.is(due, &e, now) || leased && slices.Contains(got, e.ID) {
			want = append(want, e.ID)
		}
	}
	if diff := idDifference(got, want); diff != "" {
		d.Errorf("due by %s at %v: %s", due.kind, now, diff)
	}
	d.checkOverdue(due, now, got)
	// Leases that were extended lapse in the order of their claims, which has the index.
	if due.kind != store.DueLapse && !slices.IsSortedFunc(got, func(a, b recoup.ID) int {
		x, _ := d.Expected(a)
		y, _ := d.Expected(b)
		return due.at(&x).Compare(due.at(&y))
	}) {
		d.Errorf("%s: the longest overdue does not come first", due.kind)
	}
}

// checkClaim claims everything there is and compares with what the state
// machine would lease.
func (d *Driver) checkClaim() {
	d.Helper()
	var want []recoup.ID
	for _, e := range d.Known() {
		next, _, err := lifecycle.Step(d.Policy, &e, lifecycle.Claim{Token: d.ID(), Worker: "w1"}, d.Now())
		if err == nil && next.State == recoup.RetryPending {
			want = append(want, e.ID)
		}
	}
	tables := []string{dol, target, people, discovery, errorLog, masterLog, orphans, letters}
	if diff := idDifference(ids(d.Claim(tables, sqldb.MaxPage)), want); diff != "" {
		d.Errorf("claimed at %v: %s", d.Now(), diff)
	}
}

func dueOrder(d *Driver) {
	list := ids(d.each(5))
	for _, id := range list {
		d.Park(id, "look")
		d.Wait(time.Second)
	}
	d.Wait(3 * day)
	if got := d.due(store.DueEscalation, d.Now(), 3); !slices.Equal(got, list[:3]) {
		d.Errorf("due are %v, want %v", got, list[:3])
	}
	if got := d.due(store.DueEscalation, d.Now(), 10); !slices.Equal(got, list) {
		d.Errorf("due are %v, want %v", got, list)
	}
	d.Wait(30 * day)
	if got := d.due(store.DueExpiry, d.Now(), 2); !slices.Equal(got, list[:2]) {
		d.Errorf("due are %v, want %v", got, list[:2])
	}
	for skip := range len(list) + 2 { // also beyond the last
		want := list[min(skip, len(list)):min(skip+2, len(list))]
		if got := d.dueBehind(store.DueExpiry, d.Now(), skip, 2); !slices.Equal(got, want) {
			d.Errorf("behind %d, due are %v, want %v", skip, got, want)
		}
	}
}

func dueExpiryLeased(d *Driver) {
	e := d.lateInLife("e1")
	d.WaitUntil(e.ExpiresAt.Add(-time.Second))
	leased := d.ClaimDue(e)
	d.WaitUntil(e.ExpiresAt)
	d.wantRefusal(d.Try(e.ID, lifecycle.Expire{}).Err, lifecycle.InvalidTransition)
	d.Apply(e.ID, lifecycle.Extend{Token: leased.LeaseToken, Lease: 15 * minute})
	d.WaitUntil(e.ExpiresAt.Add(10 * minute))
	d.Apply(e.ID, lifecycle.Extend{Token: leased.LeaseToken, Lease: 15 * minute})
	d.WaitUntil(e.ExpiresAt.Add(15 * minute))
	if got := d.due(store.DueExpiry, d.Now(), 10); !slices.Equal(got, []recoup.ID{e.ID}) {
		d.Errorf("due are %v, want %v", got, e.ID)
	}
	d.Apply(e.ID, lifecycle.Expire{})
	d.wantState(e.ID, recoup.Archived)
	d.Check()
}
