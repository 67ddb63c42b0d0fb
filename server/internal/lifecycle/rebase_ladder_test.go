package lifecycle_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// A parked error gets the deadlines of its tier on the new ladder, counted from
// when it came there; a review that was done stays done.
func TestRebaseOntoAnotherLadder(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	e, _ = w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
	w.wait(time.Hour)
	reviewed, _ := w.must(&e, lifecycle.Review{By: "bob"})
	to := version("12h", "escalation", "ladder", "0", "review_within").With("24h", "escalation", "ladder", "1", "after")
	next, effects := w.rebase(&e, to)
	if next.EscalationLevel != 1 || next.AssignedTo != "bob" || !next.ParkedAt.Equal(epoch) || !next.EscalatedAt.Equal(epoch) ||
		!next.ReviewDueAt.Equal(epoch.Add(12*time.Hour)) || !next.NextEscalationAt.Equal(epoch.Add(24*time.Hour)) || !next.NextReminderAt.Equal(next.ReviewDueAt) {
		t.Errorf("got %+v, reminder %v", next.Escalation, next.NextReminderAt)
	}
	if n := effects.Notices.All(); len(n) > 0 {
		t.Errorf("notified %v", n)
	}
	if next, _ = w.rebase(&reviewed, to); !next.ReviewDueAt.IsZero() || !next.LastReviewedAt.Equal(w.now) {
		t.Errorf("reviewed, and due again %v", next.ReviewDueAt)
	}
}

// A ladder with fewer rungs takes nobody down, and the clock has nothing to add.
func TestRebaseNeverLowersATier(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	e, _ = w.must(&e, lifecycle.Escalate{By: "ada", Tier: 3})
	next, effects := w.rebase(&e, version(nil, "escalation", "ladder", "2"))
	if next.EscalationLevel != 3 || next.EscalatedTo != "dol-filings-lead" || !next.ReviewDueAt.IsZero() || !next.NextEscalationAt.IsZero() {
		t.Errorf("got %+v", next.Escalation)
	}
	if n := effects.Notices.All(); len(n) != 1 || n[0] != (lifecycle.Notice{Kind: "PARKED", To: "dol-filings-lead"}) {
		t.Errorf("notified %v", n)
	}
}

// A rung that an error has outgrown on the new ladder is the clock's affair, and
// due at once.
func TestRebaseLeavesEscalationsToTheClock(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(30 * time.Hour)
	to := version("24h", "escalation", "ladder", "1", "after")
	e, _ = w.rebase(&e, to)
	w.policy = to
	if e.EscalationLevel != 1 || e.NextEscalationAt.After(w.now) {
		t.Fatalf("got %+v", e.Escalation)
	}
	if e, _ = w.must(&e, lifecycle.Escalate{}); e.EscalationLevel != 2 {
		t.Errorf("tier %d", e.EscalationLevel)
	}
}

// What has left the park has no tier and no owner but the system, and its
// reason is kept: where PARK is allowed again, it goes back.
func TestRebaseOutOfTheParkAndBack(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	e, _ = w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
	e, _ = w.must(&e, lifecycle.Escalate{By: "ada"})
	w.wait(time.Hour)
	w.policy = version([]any{"RETRY", "ARCHIVE"}, "tables", dol, "allowed")
	out, _ := w.rebase(&e, w.policy)
	if out.Escalation != (recoup.Escalation{}) || out.Parking != (recoup.Parking{ParkReason: "ESCALATION_REQUIRED"}) || out.Blocking || !out.NextReminderAt.IsZero() {
		t.Errorf("out: %+v %+v, reminder %v", out.Parking, out.Escalation, out.NextReminderAt)
	}
	w.wait(time.Hour)
	back, _ := w.rebase(&out, version(nil).With("3.0.0", "version"))
	if back.State != recoup.Parked || back.ParkReason != "ESCALATION_REQUIRED" || !back.ParkedAt.Equal(w.now) || back.EscalationLevel != 1 || !back.Blocking {
		t.Errorf("back: %s %+v %+v", back.State, back.Parking, back.Escalation)
	}
}

// Of what a rebase moves to before the last reminder, the rebase itself notifies.
func TestRebaseNotifiesOfWhatNoReminderWould(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(40 * time.Hour)
	e, _ = w.must(&e, lifecycle.Remind{}) // the missed review
	sooner := version("48h", "tiers", "MEDIUM", "lasts").With("12h", "escalation", "ladder", "0", "review_within")
	next, effects := w.rebase(&e, sooner)
	if n := effects.Notices.All(); len(n) != 1 || n[0] != (lifecycle.Notice{Kind: "EXPIRING", To: "dol-filings-team"}) {
		t.Errorf("notified %v", n)
	}
	if !next.NextReminderAt.IsZero() {
		t.Errorf("notified again at %v", next.NextReminderAt)
	}
	// Had nobody been notified yet, the next reminder would cover all of it.
	unnotified := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	unnotified.CreatedAt, unnotified.ExpiresAt = e.CreatedAt, e.ExpiresAt
	next, effects = w.rebase(&unnotified, sooner)
	if n := effects.Notices.All(); len(n) != 0 || next.NextReminderAt.After(w.now) || next.NextReminderAt.IsZero() {
		t.Errorf("notified %v, reminder %v", n, next.NextReminderAt)
	}
}

// A review that the new ladder wants sooner than the last reminder was, and that
// nobody has missed so far.
func TestRebaseNotifiesOfAReviewThatIsMissedNow(t *testing.T) {
	w := newWorld(t)
	w.policy = w.policy.With("72h", "escalation", "ladder", "0", "review_within")
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	e.RemindedAt = epoch.Add(20 * time.Hour) // of something else
	w.wait(40 * time.Hour)
	_, effects := w.rebase(&e, version("12h", "escalation", "ladder", "0", "review_within"))
	if n := effects.Notices.All(); len(n) != 1 || n[0] != (lifecycle.Notice{Kind: "REVIEW_MISSED", To: "dol-filings-team"}) {
		t.Errorf("notified %v", n)
	}
}
