package lifecycle_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// Spec 000, 10.1: tier, owner, trigger and review deadline, row by row.
func TestLadderByTheClock(t *testing.T) {
	for _, hub := range []struct {
		table  string
		owners [4]string
	}{
		{dol, [4]string{"", "dol-filings-team", "dol-filings-lead", "platform-team"}},
		{orphans, [4]string{"", "platform-team", "platform-team", "platform-team"}},
	} {
		w := newWorld(t)
		e := w.report(hub.table, "NETWORK_TIMEOUT", recoup.Critical)
		for _, rung := range []struct {
			tier   int
			after  time.Duration
			review time.Duration
			state  recoup.State
		}{
			{1, 0, 24 * time.Hour, recoup.Parked},
			{2, 48 * time.Hour, 8 * time.Hour, recoup.Escalated},
			{3, 7 * day, 4 * time.Hour, recoup.Escalated},
		} {
			if rung.tier > 1 {
				w.now = epoch.Add(rung.after - 1)
				w.refused(&e, lifecycle.Escalate{}, "INVALID_TRANSITION")
				w.now = epoch.Add(rung.after)
				e, _ = w.must(&e, lifecycle.Escalate{})
			}
			owner := hub.owners[rung.tier]
			if e.State != rung.state || e.EscalationLevel != rung.tier || e.EscalatedTo != owner || e.Owner() != owner ||
				!e.EscalatedAt.Equal(w.now) || e.ReviewDueAt.Sub(w.now) != rung.review || e.Disposition != "PARKED" {
				t.Errorf("%s tier %d: %s %+v", hub.table, rung.tier, e.State, e.Escalation)
			}
		}
		if !e.NextEscalationAt.IsZero() {
			t.Errorf("something comes after tier 3: %v", e.NextEscalationAt)
		}
		w.refused(&e, lifecycle.Escalate{}, "INVALID_TRANSITION")
	}
}

// A clock that stood still does not leave an error on a rung it has outgrown.
func TestClockSkipsRungs(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(8 * day)
	if e, _ = w.must(&e, lifecycle.Escalate{}); e.EscalationLevel != 3 {
		t.Errorf("tier %d", e.EscalationLevel)
	}
}

func TestPersonEscalates(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	e, _ = w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
	w.wait(time.Hour)
	e, effects := w.must(&e, lifecycle.Escalate{By: "bob", Reason: "needs the lead"})
	if e.EscalationLevel != 2 || e.Owner() != "dol-filings-lead" || e.EscalationReason != "needs the lead" || e.AssignedTo != "" {
		t.Errorf("got %+v, owner %s", e.Escalation, e.Owner())
	}
	if want := epoch.Add(7 * day); !e.NextEscalationAt.Equal(want) {
		t.Errorf("tier 3 at %v, want %v: the clock still counts from the park", e.NextEscalationAt, want)
	}
	if n := effects.Notices.All(); len(n) != 1 || n[0] != (lifecycle.Notice{Kind: "ESCALATED", To: "dol-filings-lead"}) {
		t.Errorf("notified %v", n)
	}
	if !e.Blocking {
		t.Error("an escalated error no longer blocks")
	}
	for _, tier := range []int{1, 2} {
		w.refused(&e, lifecycle.Escalate{By: "bob", Reason: "again", Tier: tier}, "INVALID_TRANSITION")
	}
}

// A missed review notifies the owner once and moves nothing.
func TestMissedReview(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(24*time.Hour - 1)
	w.refused(&e, lifecycle.Remind{}, "INVALID_TRANSITION")
	w.wait(1)
	reminded, effects := w.must(&e, lifecycle.Remind{})
	if n := effects.Notices.All(); len(n) != 1 || n[0] != (lifecycle.Notice{Kind: "REVIEW_MISSED", To: "dol-filings-team"}) {
		t.Errorf("notified %v", n)
	}
	if reminded.State != recoup.Parked || reminded.EscalationLevel != 1 {
		t.Errorf("moved to %s tier %d", reminded.State, reminded.EscalationLevel)
	}
	w.refused(&reminded, lifecycle.Remind{}, "INVALID_TRANSITION")
	if want := e.ExpiresAt.Add(-24 * time.Hour); !reminded.NextReminderAt.Equal(want) {
		t.Errorf("next notified at %v, want %v", reminded.NextReminderAt, want)
	}
	w.now = reminded.NextReminderAt
	_, effects = w.must(&reminded, lifecycle.Remind{})
	if n := effects.Notices.All(); len(n) != 1 || n[0].Kind != "EXPIRING" {
		t.Errorf("later notified %v", n)
	}
}

func TestReviewMeetsItsDeadline(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(time.Hour)
	e, _ = w.must(&e, lifecycle.Review{By: "ada", Reason: "seen"})
	if !e.LastReviewedAt.Equal(w.now) || !e.ReviewDueAt.IsZero() {
		t.Errorf("reviewed %v, due %v", e.LastReviewedAt, e.ReviewDueAt)
	}
	w.wait(24 * time.Hour)
	w.refused(&e, lifecycle.Remind{}, "INVALID_TRANSITION")
}

// A reminder that was due before something else happened is not forgotten.
func TestPendingReminderSurvivesOtherActs(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(25 * time.Hour) // nobody reminded in time
	e, _ = w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
	_, effects := w.must(&e, lifecycle.Remind{})
	if n := effects.Notices.All(); len(n) != 1 || n[0] != (lifecycle.Notice{Kind: "REVIEW_MISSED", To: "bob"}) {
		t.Errorf("notified %v", n)
	}
}

// The owner is notified of a blocking error's expiry a day ahead, and when it happens.
func TestExpiryThatUnblocks(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "UNREGISTERED_CODE", "")
	w.now = e.NextReminderAt
	if want := e.ExpiresAt.Add(-24 * time.Hour); !w.now.Equal(want) {
		t.Fatalf("announced at %v, want %v", w.now, want)
	}
	e, effects := w.must(&e, lifecycle.Remind{})
	if n := effects.Notices.All(); len(n) != 1 || n[0] != (lifecycle.Notice{Kind: "EXPIRING", To: "dol-filings-team"}) {
		t.Errorf("notified %v", n)
	}
	w.now = e.ExpiresAt
	gone, effects := w.must(&e, lifecycle.Expire{})
	if n := effects.Notices.All(); len(n) != 1 || n[0].Kind != "UNBLOCKED" || effects.Event != lifecycle.BlockExpired || !effects.Archive || gone.Blocking {
		t.Errorf("notified %v, event %q", n, effects.Event)
	}
}
