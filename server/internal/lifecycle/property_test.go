package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// life is one error under test, with the naive model beside it.
type life struct {
	*rapid.T
	policy *policy.Policy
	second *policy.Policy // what a rebase goes on under
	ids    *recoup.IDSource
	now    time.Time
	e      recoup.Error
	model  *model
}

func (l *life) draw(label string, n int) int { return rapid.IntRange(0, n-1).Draw(l.T, label) }

// begin reports a failure somewhere, at some severity.
func begin(t *rapid.T) *life {
	l := &life{T: t, policy: policy.Default(), second: secondVersion(), ids: recoup.NewIDSource(counting{}), now: epoch}
	tables := []string{dol, target, people, discovery, errorLog, masterLog, orphans}
	in := l.failing(rapid.SampledFrom(tables).Draw(t, "table"))
	var err error
	if l.e, _, err = lifecycle.Step(l.policy, nil, in, l.now); err != nil {
		t.Fatal(err)
	}
	l.model = born(in.Table, in.Failure.Code, in.Severity, l.now)
	l.check()
	return l
}

func (l *life) failing(table string) lifecycle.Report {
	codes := []recoup.Code{"NETWORK_TIMEOUT", "UNREGISTERED_CODE", "QUOTA_EXCEEDED", "VALIDATION_ERROR"}
	severities := append(recoup.Severities(), recoup.SeverityNone)
	return lifecycle.Report{
		ID: l.ids.New(l.now), Table: table, EntityID: "e1", Message: "m",
		Failure:  failure(rapid.SampledFrom(codes).Draw(l.T, "code")),
		Severity: rapid.SampledFrom(severities).Draw(l.T, "severity"),
	}
}

// input draws something to happen, most of it legal now and then.
func (l *life) input() lifecycle.Input {
	token := l.e.LeaseToken
	if l.draw("stranger", 8) == 0 {
		token = l.ids.New(l.now)
	}
	fail := failure([]recoup.Code{l.e.Code, l.e.Code, l.e.Code, "VALIDATION_ERROR"}[l.draw("failure", 4)])
	return []lifecycle.Input{
		lifecycle.Claim{Token: l.ids.New(l.now), Worker: "w"}, lifecycle.Claim{Token: l.ids.New(l.now), Worker: "w"},
		lifecycle.Fail{Token: token, Failure: fail}, lifecycle.Fail{Token: token, Failure: fail},
		lifecycle.Succeed{Token: token}, lifecycle.Extend{Token: token}, lifecycle.Lapse{}, lifecycle.CloseWindow{},
		lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Unpark{By: "ada"}, lifecycle.Resolve{By: "ada"},
		lifecycle.Escalate{By: "ada"}, lifecycle.Escalate{}, lifecycle.Assign{By: "ada", To: "bob"},
		lifecycle.Review{By: "ada"}, lifecycle.Remind{}, lifecycle.ArchiveNow{By: "ada"}, lifecycle.Expire{},
		lifecycle.Rebase{By: "ada", From: l.policy},
	}[l.draw("input", 19)]
}

// tick lets time pass: often to the next deadline, sometimes anywhere.
func (l *life) tick() {
	deadlines := lifecycle.Deadlines(l.policy, &l.e)
	switch i := l.draw("tick", 6); {
	case i < 3 && len(deadlines) > 0 && deadlines[0].At.After(l.now):
		l.now = deadlines[0].At
	case i == 3:
		l.now = l.now.Add(time.Duration(rapid.Int64Range(0, int64(3*day)).Draw(l.T, "pass")))
	}
}

func (l *life) step() {
	in := l.input()
	before, judge := l.e, l.policy
	if _, rebase := in.(lifecycle.Rebase); rebase {
		judge = l.second
	}
	next, effects, err := lifecycle.Step(judge, &l.e, in, l.now)
	if err != nil || next == before {
		var refusal *lifecycle.Refusal
		if err != nil && !errors.As(err, &refusal) || next != before {
			l.Fatalf("%T refused with %v, changed: %v", in, err, next != before)
		}
		return
	}
	l.Logf("%s %T %s -> %s", l.now.Format(time.DateTime), in, before.State, next.State)
	l.e, l.policy = next, judge
	l.model.move(in, l.now)
	l.checkMove(before, in, effects)
	l.check()
}

// checkMove holds what must be true of every accepted input.
func (l *life) checkMove(before recoup.Error, in lifecycle.Input, effects lifecycle.Effects) {
	if before.State == recoup.Archived || before.State == recoup.Resolved && l.e.State != recoup.Archived {
		l.Fatalf("%s was reopened by %T", before.State, in)
	}
	if l.e.State == recoup.Archived {
		checkKept(l, before, l.e)
		if l.e.ArchivedAt.IsZero() || l.e.ArchivedBy == "" || l.e.ArchiveReason == "" || l.e.FinalDisposition != before.Disposition {
			l.Fatalf("archived without %+v", l.e.Archive)
		}
	}
	_, claim := in.(lifecycle.Claim)
	_, extend := in.(lifecycle.Extend)
	if written := effects.History.Input != ""; written == (extend || claim && !before.Lapsed(l.now)) {
		l.Fatalf("%T: history row written: %v", in, written)
	}
}

// check holds what must be true of an error at any time.
func (l *life) check() {
	e := &l.e
	table, ok := l.policy.Table(e.Table)
	if !ok {
		l.Fatalf("in no table: %q", e.Table)
	}
	if i := slices.IndexFunc(recoup.Actions(), func(a recoup.Action) bool { return a.Disposition() == e.Disposition }); i >= 0 {
		if !table.Allows(recoup.Actions()[i]) {
			l.Fatalf("%s is not allowed in %s", e.Disposition, e.Table)
		}
	}
	if e.RetryCount > e.MaxRetries || e.RetryExhausted != (e.RetryCount >= e.MaxRetries) {
		l.Fatalf("%d of %d retries, exhausted %v", e.RetryCount, e.MaxRetries, e.RetryExhausted)
	}
	if table.Infinite() != e.ExpiresAt.IsZero() {
		l.Fatalf("expires %v in %s", e.ExpiresAt, e.Table)
	}
	if e.State.Open() && len(lifecycle.Deadlines(l.policy, e)) == 0 && table.Owner(1) == "" {
		l.Fatalf("alive with neither deadline nor owner: %+v", e)
	}
	if (e.State == recoup.Parked || e.State == recoup.Escalated) && (e.Owner() == recoup.System || e.ParkReason == "") {
		l.Fatalf("parked without an owner or a reason: %+v", e)
	}
	gate := e.Table == dol || e.Table == target || e.Table == people
	if want := gate && e.State.Open() && (e.Disposition == "RETRY" || e.Disposition == "PARKED"); e.Blocking != want {
		l.Fatalf("blocking %v, want %v", e.Blocking, want)
	}
	if want := e.State.Open() && e.Table != masterLog; e.Replaceable != want {
		l.Fatalf("replaceable %v, want %v", e.Replaceable, want)
	}
	l.compare()
}

// compare holds the error against the naive model.
func (l *life) compare() {
	e, m := &l.e, l.model
	got := fmt.Sprint(e.State, e.RetryCount, e.EscalationLevel, e.LeaseToken, e.ExpiresAt)
	want := fmt.Sprint(m.state, m.count, m.tier, m.lease, m.expires)
	if e.State == recoup.RetryPending {
		got += fmt.Sprint(e.NextRetryAt)
		want += fmt.Sprint(m.due)
	}
	if got != want {
		l.Fatalf("the naive model disagrees:\n got %s\nwant %s", got, want)
	}
}

func TestLivesObeyTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := begin(t)
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			l.tick()
			l.step()
		}
	})
}

// The first deadline of an error is exact: its input is accepted then, and
// refused a moment before.
func TestDeadlinesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := begin(t)
		for range rapid.IntRange(0, 15).Draw(t, "length") {
			l.tick()
			l.step()
		}
		deadlines := lifecycle.Deadlines(l.policy, &l.e)
		if len(deadlines) == 0 || !deadlines[0].At.After(l.now) {
			return // overdue: what else may happen first is the sweeper's affair
		}
		d := deadlines[0]
		if d.Input == nil {
			d.Input = lifecycle.Claim{Token: l.ids.New(l.now)}
		}
		if _, _, err := lifecycle.Step(l.policy, &l.e, d.Input, d.At.Add(-1)); err == nil {
			t.Fatalf("%s was accepted before %v", d.Kind, d.At)
		}
		if _, _, err := lifecycle.Step(l.policy, &l.e, d.Input, d.At); err != nil {
			t.Fatalf("at %v: %v", d.At, err)
		}
	})
}

// A report that repeats an open error never gains anything by it: not a retry,
// not time in the window, not a way out of the park, not an open gate.
func TestRepeatsGainNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := begin(t)
		for range rapid.IntRange(0, 15).Draw(t, "length") {
			l.tick()
			l.step()
		}
		if !l.e.State.Open() || l.e.Table == masterLog {
			return
		}
		in := l.failing(l.e.Table)
		in.Failure = failure(l.e.Code)
		next, effects, err := lifecycle.Step(l.policy, &l.e, in, l.now)
		if err != nil {
			t.Fatal(err)
		}
		l.compareRepeat(next, effects)
	})
}

func (l *life) compareRepeat(next recoup.Error, effects lifecycle.Effects) {
	older := l.e
	if effects.Superseded == nil || effects.Superseded.Error.State != recoup.Archived || effects.Superseded.Error.ID != older.ID {
		l.Fatalf("the older was not archived: %+v", effects.Superseded)
	}
	checkKept(l, older, effects.Superseded.Error)
	if next.MaxRetries-next.RetryCount > max(older.MaxRetries-older.RetryCount, 0) {
		l.Fatalf("a repeat bought retries: %d of %d, was %d of %d", next.RetryCount, next.MaxRetries, older.RetryCount, older.MaxRetries)
	}
	if !older.WindowEndsAt.IsZero() && !next.WindowEndsAt.Equal(older.WindowEndsAt) {
		l.Fatalf("a repeat moved the window from %v to %v", older.WindowEndsAt, next.WindowEndsAt)
	}
	held := older.State == recoup.Parked || older.State == recoup.Escalated
	if held && (next.State != older.State || next.Parking != older.Parking || next.Escalation != older.Escalation) {
		l.Fatalf("a repeat left the park: %s, was %s", next.State, older.State)
	}
	if older.Blocking && !next.Blocking {
		l.Fatalf("a repeat opened the gate")
	}
}
