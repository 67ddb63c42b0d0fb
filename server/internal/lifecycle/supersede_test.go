package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// again reports the same failure while e is open.
func (w *world) again(e *recoup.Error, change func(*lifecycle.Report)) (recoup.Error, lifecycle.Effects) {
	w.Helper()
	in := w.reportOf(e.Table, e.Code, e.Severity)
	if change != nil {
		change(&in)
	}
	return w.must(e, in)
}

func TestRepeatReplacesALeasedError(t *testing.T) {
	w := newWorld(t)
	first := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&first)
	next, effects := w.again(&leased, nil)
	old := effects.Superseded.Error
	if old.State != recoup.Archived || old.ArchiveReason != recoup.SupersededByNext || old.FinalDisposition != "RETRY" ||
		old.SupersededBy != next.ID || !old.LeaseToken.IsZero() || old.Blocking {
		t.Errorf("the older: %+v", old)
	}
	if next.ID == first.ID || next.RetryCount != 1 || !next.WindowEndsAt.Equal(first.WindowEndsAt) || next.State != recoup.RetryPending {
		t.Errorf("the newer: %+v", next)
	}
	if got := next.NextRetryAt.Sub(w.now); got != 4*time.Second {
		t.Errorf("its second retry waits %v", got)
	}
	// The worker's own word comes too late, and that is kept.
	_, late, err := lifecycle.Step(w.policy, &old, lifecycle.Fail{Token: token, Failure: failure("NETWORK_TIMEOUT")}, w.now)
	var refusal *lifecycle.Refusal
	if !errors.As(err, &refusal) || refusal.Code != lifecycle.LeaseLost || late.History.Reason != "LEASE_LOST" || late.History.Attempt != token {
		t.Errorf("late result: %v, %+v", err, late.History)
	}
}

func TestRepeatStaysParked(t *testing.T) {
	w := newWorld(t)
	parked := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	parked, _ = w.must(&parked, lifecycle.Assign{By: "ada", To: "bob"})
	escalated, _ := w.must(&parked, lifecycle.Escalate{By: "ada"})
	escalated, _ = w.must(&escalated, lifecycle.Assign{By: "ada", To: "eve"})
	for _, older := range []recoup.Error{parked, escalated} {
		w.wait(time.Hour)
		next, _ := w.again(&older, func(in *lifecycle.Report) { in.Severity = recoup.Low })
		if next.State != older.State || next.Parking != older.Parking || next.Escalation != older.Escalation || !next.Blocking {
			t.Errorf("%s: got %s %+v %+v", older.State, next.State, next.Parking, next.Escalation)
		}
		if next.RetryCount != 1 || next.Severity != recoup.Critical {
			t.Errorf("%s: count %d, severity %s", older.State, next.RetryCount, next.Severity)
		}
	}
}

// However often a failure is reported, its retries run out.
func TestRepeatsNeverBuyRetries(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	for range 4 {
		if e, _ = w.again(&e, nil); e.State != recoup.RetryPending {
			t.Fatalf("parked after %d", e.RetryCount)
		}
	}
	for range 3 {
		if e, _ = w.again(&e, nil); e.State != recoup.Parked || e.ParkReason != recoup.MaxRetriesExceeded || e.RetryCount != 5 {
			t.Fatalf("got %s %s after %d", e.State, e.ParkReason, e.RetryCount)
		}
	}
}

// A worker that fails and reports the same attempt has used one.
func TestReportAndFailOfOneAttemptCountOnce(t *testing.T) {
	w := newWorld(t)
	first := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&first)
	failed, _ := w.must(&leased, lifecycle.Fail{Token: token, Failure: failure("NETWORK_TIMEOUT")})
	if next, _ := w.again(&failed, func(in *lifecycle.Report) { in.Attempt = token }); next.RetryCount != 1 {
		t.Errorf("fail, then report: %d", next.RetryCount)
	}
	if next, _ := w.again(&leased, func(in *lifecycle.Report) { in.Attempt = token }); next.RetryCount != 1 || next.LastAttempt != token {
		t.Errorf("report instead of fail: %d", next.RetryCount)
	}
}

func TestWhatIsNeverReplaced(t *testing.T) {
	w := newWorld(t)
	for _, table := range []string{masterLog, letters} {
		older := w.report(table, "NETWORK_TIMEOUT", "")
		if next, effects := w.again(&older, nil); effects.Superseded != nil || next.RetryCount != 0 {
			t.Errorf("%s: replaced", table)
		}
	}
	in := w.reportOf(orphans, "NETWORK_TIMEOUT", "")
	in.EntityID = ""
	older, _ := w.must(nil, in)
	in.ID = w.id()
	if _, effects := w.must(&older, in); effects.Superseded != nil {
		t.Error("an error without an entity was replaced")
	}
	parked := w.report(dol, "NETWORK_TIMEOUT", "")
	other := w.reportOf(dol, "QUOTA_EXCEEDED", "")
	if _, _, err := lifecycle.Step(w.policy, &parked, other, w.now); !errors.Is(err, lifecycle.ErrMismatch) {
		t.Errorf("another code: %v", err)
	}
}
