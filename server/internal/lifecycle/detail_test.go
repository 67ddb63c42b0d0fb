package lifecycle_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// Small things that a reader of a row relies on.

func TestUpdatedAtFollowsEveryChange(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(time.Hour)
	assigned, _ := w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
	next, effects := w.again(&e, nil)
	for name, got := range map[string]time.Time{
		"assigned": assigned.UpdatedAt, "newer": next.UpdatedAt, "older": effects.Superseded.Error.UpdatedAt,
	} {
		if !got.Equal(w.now) {
			t.Errorf("%s: updated at %v, want %v", name, got, w.now)
		}
	}
}

func TestRepeatRemembersTheLastRetry(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	e = w.failOnce(&e, "NETWORK_TIMEOUT")
	parked, _ := w.must(&e, lifecycle.Park{By: "ada", Reason: "look"})
	for _, older := range []recoup.Error{e, parked} {
		next, _ := w.again(&older, nil)
		if !next.LastRetryAt.Equal(e.LastRetryAt) || !next.WindowEndsAt.Equal(e.WindowEndsAt) {
			t.Errorf("%s: last retry %v, window %v", older.State, next.LastRetryAt, next.WindowEndsAt)
		}
	}
}

func TestClaimOfAnExpiredLeaseIsASystemTransition(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, _ := w.claim(&e)
	w.now = leased.LeaseEndsAt
	_, effects := w.must(&leased, lifecycle.Claim{Token: w.id(), Worker: "w2"})
	if h := effects.History; h.Actor != recoup.System || h.Worker != "w1" {
		t.Errorf("actor %q, worker %q", h.Actor, h.Worker)
	}
}

func TestLateExtensionLeavesNoRow(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&e)
	parked, _ := w.must(&leased, lifecycle.Park{By: "ada", Reason: "look"})
	if h := w.refused(&parked, lifecycle.Extend{Token: token}, "LEASE_LOST").History; h.Input != "" {
		t.Errorf("left %+v", h)
	}
}

// Retries of a long class outlive a TTL that its schedule alone would fit into.
func TestUnparkWarnsByTheClassToo(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "QUOTA_EXCEEDED", recoup.Critical)
	w.now = e.ExpiresAt.Add(-time.Hour) // four more waits of 15 minutes
	if _, effects := w.must(&e, lifecycle.Unpark{By: "ada"}); effects.Warning != lifecycle.RetriesOutliveTTL {
		t.Errorf("warning %q", effects.Warning)
	}
}

func TestClockSaysSinceWhenItWasParked(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(48 * time.Hour)
	e, effects := w.must(&e, lifecycle.Escalate{})
	if want := "parked since 2026-02-02T09:00:00Z"; e.EscalationReason != want || effects.History.Reason != want {
		t.Errorf("%q, history %q", e.EscalationReason, effects.History.Reason)
	}
}

// Without an entity there is nobody whose lookups could be counted.
func TestNoStreakWithoutAnEntity(t *testing.T) {
	w := newWorld(t)
	w.policy = w.policy.With(false, "tables", target, "entity_required")
	in := w.reportOf(target, "DOMAIN_NOT_FOUND", "")
	in.EntityID = ""
	if e, effects := w.must(nil, in); e.Table != target || effects.Streak != (lifecycle.Streak{}) {
		t.Errorf("in %s: streak %+v", e.Table, effects.Streak)
	}
}

// The one try that an unpark has bought stays one, also if the failure is
// reported again as something that could be retried.
func TestRepeatDoesNotRaiseABudget(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "SLOT_CONFLICT", "") // unproven: not retryable
	e, _ = w.must(&e, lifecycle.Unpark{By: "ada"})
	next, _ := w.again(&e, func(in *lifecycle.Report) { in.Failure.Class = recoup.ClassShortDelay })
	if next.MaxRetries != 1 || next.State != recoup.Parked {
		t.Errorf("%s with %d retries", next.State, next.MaxRetries)
	}
}

// An attempt that a report has ended counts once, however often it is reported.
func TestAttemptReportedTwice(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&e)
	for range 3 {
		leased, _ = w.again(&leased, func(in *lifecycle.Report) { in.Attempt = token })
		if leased.RetryCount != 1 {
			t.Fatalf("counted %d times", leased.RetryCount)
		}
	}
}
