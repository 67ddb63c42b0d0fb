package conformance

import (
	"errors"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func steps() []clause {
	return []clause{
		{"every act leaves its state, one history row and its notices in one commit", everyAct},
		{"a history row says who did what and why, before, after and under which policy", historyRow},
		{"acts on one error in one batch build on each other", actsInBatch},
		{"a refused act changes nothing and leaves the others of its batch alone", refusedAct},
		{"an act on an id that names nothing is not found", unknownID},
		{"an archived error accepts nothing", archivedIsOver},
	}
}

// act is a row of the specification: an input to an error in some state, and
// what it must leave.
type act struct {
	name    string
	prepare func(d *Driver) recoup.Error
	input   func(e recoup.Error) lifecycle.Input
	state   recoup.State
	history []string
	notices []wire.NoticeKind
}

func retrying(d *Driver) recoup.Error {
	return d.Report(dol, fmt.Sprint(d.ID()), "NETWORK_TIMEOUT", recoup.Medium)
}

func parked(d *Driver) recoup.Error { return d.Park(retrying(d).ID, "look") }

func leased(d *Driver) recoup.Error { return d.ClaimDue(retrying(d)) }

func resolved(d *Driver) recoup.Error { return d.Resolve(retrying(d).ID) }

// overdue prepares an error and waits for one of its deadlines.
func overdue(prepare func(*Driver) recoup.Error, deadline func(*recoup.Error) time.Time) func(*Driver) recoup.Error {
	return func(d *Driver) recoup.Error {
		e := prepare(d)
		d.WaitUntil(deadline(&e))
		return e
	}
}

func given(in lifecycle.Input) func(recoup.Error) lifecycle.Input {
	return func(recoup.Error) lifecycle.Input { return in }
}

func acts() []act {
	const parkNotice, escalated, expiring = wire.NoticeParked, wire.NoticeEscalated, wire.NoticeExpiring
	notices := func(list ...wire.NoticeKind) []wire.NoticeKind { return list }
	history := func(list ...string) []string { return list }
	reminder := func(e *recoup.Error) time.Time { return e.NextReminderAt }
	expiry := func(e *recoup.Error) time.Time { return e.ExpiresAt }
	window := func(e *recoup.Error) time.Time { return e.WindowEndsAt.Add(time.Microsecond) }
	lapse := func(e *recoup.Error) time.Time { return e.LeaseEndsAt }
	ladder := func(e *recoup.Error) time.Time { return e.NextEscalationAt }
	return []act{
		{"park", retrying, given(lifecycle.Park{By: "ada", Reason: "look"}),
			recoup.Parked, history("report", "park"), notices(parkNotice)},
		{"unpark", parked, given(lifecycle.Unpark{By: "ada"}),
			recoup.RetryPending, history("report", "park", "unpark"), notices(parkNotice)},
		{"resolve", retrying, given(lifecycle.Resolve{By: "ada", Reason: "fixed"}),
			recoup.Resolved, history("report", "resolve"), nil},
		{"escalate", parked, given(lifecycle.Escalate{By: "ada", Reason: "urgent"}),
			recoup.Escalated, history("report", "park", "escalate"), notices(parkNotice, escalated)},
		{"escalate by the clock", overdue(parked, ladder), given(lifecycle.Escalate{}),
			recoup.Escalated, history("report", "park", "escalate"), notices(parkNotice, wire.NoticeReviewMissed, escalated)},
		{"assign", parked, given(lifecycle.Assign{By: "ada", To: "bob"}),
			recoup.Parked, history("report", "park", "assign"), notices(parkNotice)},
		{"review", parked, given(lifecycle.Review{By: "ada"}),
			recoup.Parked, history("report", "park", "review"), notices(parkNotice)},
		{"remind of a missed review", overdue(parked, reminder), given(lifecycle.Remind{}),
			recoup.Parked, history("report", "park", "remind"), notices(parkNotice, wire.NoticeReviewMissed)},
		{"remind of an expiry", overdue(retrying, reminder), given(lifecycle.Remind{}),
			recoup.RetryPending, history("report", "remind"), notices(expiring)},
		{"archive", retrying, given(lifecycle.ArchiveNow{By: "ada", Reason: "enough"}),
			recoup.Archived, history("report", "archive"), nil},
		{"archive what is resolved", resolved, given(lifecycle.ArchiveNow{}),
			recoup.Archived, history("report", "resolve", "archive"), nil},
		{"expire", overdue(retrying, expiry), given(lifecycle.Expire{}),
			recoup.Archived, history("report", "expire"), notices(wire.NoticeUnblocked)},
		{"close the window", overdue(retrying, window), given(lifecycle.CloseWindow{}),
			recoup.Parked, history("report", "close_window"), notices(parkNotice)},
		{"lapse", overdue(leased, lapse), given(lifecycle.Lapse{}),
			recoup.RetryPending, history("report", "lapse"), nil},
		{"extend", leased, func(e recoup.Error) lifecycle.Input { return lifecycle.Extend{Token: e.LeaseToken, Lease: 5 * minute} },
			recoup.RetryPending, history("report"), nil},
		{"succeed", leased, func(e recoup.Error) lifecycle.Input { return lifecycle.Succeed{Token: e.LeaseToken} },
			recoup.Resolved, history("report", "succeed"), nil},
		{"fail", leased, func(e recoup.Error) lifecycle.Input {
			return lifecycle.Fail{Token: e.LeaseToken, Failure: Failure("NETWORK_TIMEOUT")}
		}, recoup.RetryPending, history("report", "fail"), nil},
		{"fail for good", leased, func(e recoup.Error) lifecycle.Input {
			return lifecycle.Fail{Token: e.LeaseToken, Failure: Failure("RUNTIME_BUG")}
		}, recoup.Parked, history("report", "fail"), notices(wire.NoticePaged, parkNotice)},
	}
}

func everyAct(d *Driver) {
	for _, a := range acts() {
		e := a.prepare(d)
		d.Apply(e.ID, a.input(e))
		if got := d.Read(e.ID).State; got != a.state {
			d.Errorf("%s: it is %s, want %s", a.name, got, a.state)
		}
		d.wantHistory(e.ID, a.history...)
		d.wantNotices(e.ID, a.notices...)
		d.CheckErrors()
		if d.Failed() {
			d.Fatalf("in: %s", a.name)
		}
		if d.Read(e.ID).State.Open() {
			d.Archive(e.ID)
		}
	}
	d.Check()
}

func historyRow(d *Driver) {
	e := retrying(d)
	d.Wait(minute)
	d.Apply(e.ID, lifecycle.Park{By: "ada", Reason: "no such EIN"})
	rows, err := d.Store.History(d.Context(), e.ID, sqldb.MaxPage)
	if err != nil || len(rows) != 2 {
		d.Fatalf("%d rows, %v", len(rows), err)
	}
	born := recoup.Snapshot{
		State: recoup.RetryPending, Disposition: recoup.DispositionRetry, Blocking: true,
		NextRetryAt: Epoch().Add(2 * time.Second), ExpiresAt: Epoch().Add(30 * day), Owner: recoup.System,
	}
	held := born
	held.State, held.Disposition, held.EscalationLevel = recoup.Parked, recoup.DispositionParked, 1
	held.NextRetryAt, held.Owner = time.Time{}, "dol-filings-team"
	want := []recoup.Transition{
		{ErrorID: e.ID, At: Epoch(), Input: "report", Actor: recoup.System, After: born, PolicyVersion: d.Policy.Version},
		{ErrorID: e.ID, At: Epoch().Add(minute), Input: "park", Actor: "ada", Reason: "no such EIN",
			Before: born, After: held, PolicyVersion: d.Policy.Version},
	}
	for i := range want {
		if diff := difference(rows[i], want[i]); diff != "" {
			d.Errorf("row %d:%s", i, diff)
		}
	}
}

func actsInBatch(d *Driver) {
	e := retrying(d)
	outcomes, err := d.TryActs(d.Context(),
		Act{e.ID, lifecycle.Park{By: "ada", Reason: "look"}},
		Act{e.ID, lifecycle.Assign{By: "ada", To: "bob"}},
		Act{e.ID, lifecycle.Unpark{By: "bob"}},
		Act{e.ID, lifecycle.Resolve{By: "bob", Reason: "fixed"}},
		Act{e.ID, lifecycle.ArchiveNow{By: "bob"}},
	)
	d.accepted(outcomes, err)
	d.wantState(e.ID, recoup.Archived)
	d.wantHistory(e.ID, "report", "park", "assign", "unpark", "resolve", "archive")
	d.Check()
}

func refusedAct(d *Driver) {
	a, b, c := retrying(d), retrying(d), retrying(d)
	outcomes, err := d.TryActs(d.Context(),
		Act{a.ID, lifecycle.Park{By: "ada", Reason: "look"}},
		Act{b.ID, lifecycle.Unpark{By: "ada"}},
		Act{c.ID, lifecycle.Resolve{By: "ada"}},
	)
	if err != nil || len(outcomes) != 3 || outcomes[0].Err != nil || outcomes[2].Err != nil {
		d.Fatalf("%v, %v", outcomes, err)
	}
	d.wantRefusal(outcomes[1].Err, lifecycle.InvalidTransition)
	d.wantHistory(b.ID, "report")
	d.Check()
}

func unknownID(d *Driver) {
	e := retrying(d)
	outcomes, err := d.TryActs(d.Context(), Act{d.ID(), lifecycle.Resolve{By: "ada"}}, Act{e.ID, lifecycle.Resolve{By: "ada"}})
	if err != nil || len(outcomes) != 2 || !errors.Is(outcomes[0].Err, sqldb.ErrNotFound) || outcomes[1].Err != nil {
		d.Errorf("%v, %v", outcomes, err)
	}
	if _, err := d.Store.Error(d.Context(), d.ID()); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("an unknown id is answered with %v", err)
	}
	if rows, err := d.Store.History(d.Context(), d.ID(), 10); err != nil || len(rows) != 0 {
		d.Errorf("the history of an unknown id: %v, %v", rows, err)
	}
	d.Check()
}

func archivedIsOver(d *Driver) {
	e := d.Archive(retrying(d).ID)
	for _, a := range acts() {
		d.wantRefusalOf(d.Try(e.ID, a.input(e)), a.name)
	}
	d.wantHistory(e.ID, "report", "archive")
	d.Check()
}
