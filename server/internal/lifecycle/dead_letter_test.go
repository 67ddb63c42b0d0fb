package lifecycle_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// letterKinds are the inputs that only dead letters know.
var letterKinds = []lifecycle.Kind{"replay", "return", "fail_again", "verify"}

// letter returns a dead letter in a state for which nothing but the state stands
// in the way of an input: of a return and a new failure, part of a replay.
func (w *world) letter(state recoup.State, kind lifecycle.Kind) *recoup.Error {
	e := w.report(letters, "NETWORK_TIMEOUT", "")
	switch state {
	case recoup.Escalated:
		e, _ = w.must(&e, lifecycle.Escalate{By: "ada"})
	case recoup.Resolved:
		e, _ = w.must(&e, lifecycle.Verify{By: "ada"})
	case recoup.Archived:
		e, _ = w.must(&e, lifecycle.ArchiveNow{By: "ada"})
	}
	if e.State.Open() && (kind == "return" || kind == "fail_again") {
		e, _ = w.must(&e, lifecycle.Replay{By: "ada"})
	}
	return &e
}

// Nothing expires while it is part of a replay; what comes back has the time that
// it had, and at least the day in which its owner can look at it.
func TestReplayHoldsTheExpiry(t *testing.T) {
	for name, row := range map[string]struct {
		after time.Duration // how long the replay takes
		want  time.Duration // from the report to the expiry
	}{
		"in time":      {day, 90 * day},
		"at the end":   {90*day - time.Hour, 91*day - time.Hour},
		"when it over": {100 * day, 101 * day},
	} {
		w := newWorld(t)
		e := w.report(letters, "NETWORK_TIMEOUT", "")
		expires := e.ExpiresAt
		held, _ := w.must(&e, lifecycle.Replay{By: "ada"})
		w.wait(row.after)
		if _, _, err := lifecycle.Step(w.policy, &held, lifecycle.Expire{}, w.now); err == nil || !held.ExpiresAt.IsZero() {
			t.Errorf("%s: it expires during a replay", name)
		}
		for kind, in := range map[string]lifecycle.Input{
			"return":     lifecycle.Return{Expires: expires},
			"fail again": lifecycle.FailAgain{Expires: expires, Failure: failure("NETWORK_TIMEOUT")},
		} {
			back, _ := w.must(&held, in)
			if got := back.ExpiresAt.Sub(epoch); got != row.want {
				t.Errorf("%s, %s: it expires after %v, want %v", name, kind, got, row.want)
			}
		}
	}
}

// A replay that fails parks anew; the ladder is not descended, and an engineering
// review is tier 2 at once.
func TestFailAgainOnTheLadder(t *testing.T) {
	for _, row := range []struct {
		name     string
		tier     int // before
		asked    int
		want     int
		assignee string
	}{
		{"the first tier", 1, 0, 1, "bob"},
		{"an engineering review", 1, 2, 2, ""},
		{"no way down", 3, 2, 3, "bob"},
		{"not above the ladder", 3, 7, 3, "bob"},
	} {
		w := newWorld(t)
		e := w.report(letters, "NETWORK_TIMEOUT", "")
		if row.tier > 1 {
			e, _ = w.must(&e, lifecycle.Escalate{By: "ada", Tier: row.tier})
		}
		e, _ = w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
		e, _ = w.must(&e, lifecycle.Replay{By: "ada"})
		w.wait(day)
		next, effects := w.must(&e, lifecycle.FailAgain{Failure: failure("VALIDATION_ERROR"), Tier: row.asked, Expires: epoch.Add(90 * day)})
		want := recoup.Parked
		if row.want > 1 {
			want = recoup.Escalated
		}
		if next.EscalationLevel != row.want || next.State != want || next.AssignedTo != row.assignee || !next.ParkedAt.Equal(w.now) {
			t.Errorf("%s: %s on tier %d, assigned to %q, parked %v", row.name, next.State, next.EscalationLevel, next.AssignedTo, next.ParkedAt)
		}
		if next.LastFailureCode != "VALIDATION_ERROR" || next.Class != recoup.ClassFatal || next.ParkReason != recoup.NonRetryableError || next.Code != "NETWORK_TIMEOUT" {
			t.Errorf("%s: %+v", row.name, next)
		}
		if effects.Event != "VALIDATION_ERROR" || effects.History.Input != "fail_again" || len(effects.Notices.All()) != 1 {
			t.Errorf("%s: effects are %+v", row.name, effects)
		}
	}
}

// A runtime bug pages, in every round; a content reject is for an operator.
func TestFailAgainAsThePolicySays(t *testing.T) {
	for code, want := range map[recoup.Code]struct {
		reason recoup.ParkReason
		page   bool
	}{
		"RUNTIME_BUG":      {recoup.NonRetryableError, true},
		"CONTENT_REJECTED": {recoup.EscalationRequired, false},
		"NETWORK_TIMEOUT":  {recoup.EscalationRequired, false},
	} {
		w := newWorld(t)
		first := w.report(letters, code, "")
		e, _ := w.must(&first, lifecycle.Replay{By: "ada"})
		next, effects := w.must(&e, lifecycle.FailAgain{Failure: failure(code), Expires: first.ExpiresAt})
		paged := effects.Notices.All()[0].Kind == wire.NoticePaged
		if first.ParkReason != want.reason || next.ParkReason != want.reason || paged != want.page {
			t.Errorf("%s: first %s, then %s, paged %v", code, first.ParkReason, next.ParkReason, paged)
		}
	}
}

func TestDeadLettersLeaveByTheirWorkflow(t *testing.T) {
	w := newWorld(t)
	other := w.report(dol, "VALIDATION_ERROR", "")
	letter := w.report(letters, "NETWORK_TIMEOUT", "")
	held, _ := w.must(&letter, lifecycle.Replay{By: "ada"})
	for name, row := range map[string]struct {
		e  recoup.Error
		in lifecycle.Input
	}{
		"what is no dead letter": {other, lifecycle.Verify{By: "ada"}},
		"two replays":            {held, lifecycle.Replay{By: "ada"}},
		"no replay to return of": {letter, lifecycle.Return{}},
		"no replay to fail":      {letter, lifecycle.FailAgain{Failure: failure("NETWORK_TIMEOUT")}},
		"no failure":             {held, lifecycle.FailAgain{}},
		"a replay under way":     {held, lifecycle.Verify{By: "ada"}},
	} {
		next, _, err := lifecycle.Step(w.policy, &row.e, row.in, w.now)
		var refusal *lifecycle.Refusal
		if !errors.As(err, &refusal) || next != row.e {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.now = letter.ExpiresAt
	if _, _, err := lifecycle.Step(w.policy, &letter, lifecycle.Replay{By: "ada"}, w.now); err == nil {
		t.Error("what has expired is replayed")
	}
}

// What is in mid-replay is not archived by hand: a worker may hold its work. Nor is
// that named as a way out.
func TestArchiveWaitsForTheReplay(t *testing.T) {
	w := newWorld(t)
	e := w.report(letters, "NETWORK_TIMEOUT", "")
	held, _ := w.must(&e, lifecycle.Replay{By: "ada"})
	for _, in := range []lifecycle.Input{lifecycle.ArchiveNow{By: "ada", Reason: "enough"}, lifecycle.Resolve{By: "ada"}} {
		_, _, err := lifecycle.Step(w.policy, &held, in, w.now)
		var refusal *lifecycle.Refusal
		if !errors.As(err, &refusal) || refusal.Code != lifecycle.InvalidTransition || slices.Contains(refusal.Exits, lifecycle.Archiving) {
			t.Errorf("%T in mid-replay is answered with %v", in, err)
		}
	}
	back, _ := w.must(&held, lifecycle.Return{By: "ada", Expires: e.ExpiresAt})
	if gone, _ := w.must(&back, lifecycle.ArchiveNow{By: "ada"}); gone.State != recoup.Archived {
		t.Errorf("after the replay it is %s", gone.State)
	}
}

// A replay that fails with its budget spent is parked for that.
func TestFailAgainExhausted(t *testing.T) {
	for code, want := range map[recoup.Code]recoup.ParkReason{
		"NETWORK_TIMEOUT": recoup.MaxRetriesExceeded, "VALIDATION_ERROR": recoup.NonRetryableError,
	} {
		w := newWorld(t)
		e := w.report(letters, "NETWORK_TIMEOUT", "")
		held, _ := w.must(&e, lifecycle.Replay{By: "ada"})
		f := failure(code)
		f.Exhausted = true
		if back, _ := w.must(&held, lifecycle.FailAgain{Expires: e.ExpiresAt, Failure: f}); back.ParkReason != want {
			t.Errorf("%s is parked for %s, want %s", code, back.ParkReason, want)
		}
	}
}
