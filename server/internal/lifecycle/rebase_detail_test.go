package lifecycle_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// unparkedLow is retried because a person wanted it: by policy it would rest.
func (w *world) unparkedLow() recoup.Error {
	w.Helper()
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Low)
	e, _ = w.must(&e, lifecycle.Park{By: "ada", Reason: "look"})
	e, _ = w.must(&e, lifecycle.Unpark{By: "ada"})
	return e
}

// What a repeat took over from the error it replaced is not measured anew where
// the rules are the old ones.
func TestRebaseKeepsWhatARepeatTookOver(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "VALIDATION_ERROR", "")
	e, _ = w.again(&e, func(in *lifecycle.Report) { in.Severity = recoup.High }) // whose TTL is 7 days
	if next, _ := w.rebase(&e, version(nil)); !next.ExpiresAt.Equal(e.ExpiresAt) {
		t.Errorf("expires %v, was %v", next.ExpiresAt, e.ExpiresAt)
	}
	proven := w.report(dol, "SLOT_CONFLICT", "") // unproven: one try by hand, and no window
	proven, _ = w.must(&proven, lifecycle.Unpark{By: "ada"})
	proven, _ = w.again(&proven, func(in *lifecycle.Report) { in.Failure.Class = recoup.ClassShortDelay })
	if next, _ := w.rebase(&proven, version(nil)); next.MaxRetries != 1 || !next.WindowEndsAt.IsZero() {
		t.Errorf("%d retries, window %v", next.MaxRetries, next.WindowEndsAt)
	}
}

// A person's decision to retry outlives a version that still thinks otherwise,
// and ends with the table's leave to retry.
func TestRebaseOfWhatAPersonRetries(t *testing.T) {
	w := newWorld(t)
	low := w.unparkedLow()
	leased, _ := w.claim(&low)
	if next, _ := w.rebase(&leased, version(map[string]any{}, "severities", "LOW")); next.Lease != leased.Lease || !next.NextRetryAt.Equal(leased.NextRetryAt) {
		t.Errorf("due %v with %+v, was %v", next.NextRetryAt, next.Lease, leased.NextRetryAt)
	}
	noRetry := version([]any{"PARK", "ARCHIVE"}, "tables", dol, "allowed").With("ARCHIVE", "tables", dol, "default")
	if next, _ := w.rebase(&low, noRetry); next.State != recoup.Active || next.Disposition != "ARCHIVE" {
		t.Errorf("got %s %s", next.State, next.Disposition)
	}
	fatal := w.report(dol, "VALIDATION_ERROR", "")
	fatal, _ = w.must(&fatal, lifecycle.Unpark{By: "ada"})
	if next, _ := w.rebase(&fatal, version([]any{"VALIDATION_ERROR"}, "parking", "conditions", "1", "codes")); next.State != recoup.RetryPending {
		t.Errorf("parked for %s", next.ParkReason)
	}
}

// A retry that the other side asked to wait for falls out of a shorter window.
func TestRebaseOfALateRetry(t *testing.T) {
	w := newWorld(t)
	in := w.reportOf(dol, "NETWORK_TIMEOUT", "")
	in.Failure.RetryAfter = time.Hour
	e, _ := w.must(nil, in)
	if next, _ := w.rebase(&e, version("30m", "retry", "categories", "TRANSIENT", "window")); next.ParkReason != recoup.RetryWindowClosed {
		t.Errorf("%s %s", next.State, next.ParkReason)
	}
	if next, _ := w.rebase(&e, version("90m", "retry", "categories", "TRANSIENT", "window")); !next.NextRetryAt.Equal(e.NextRetryAt) {
		t.Errorf("%s, due %v", next.State, next.NextRetryAt)
	}
}

// What should be parked and cannot be rests as ARCHIVE; its owner is notified once.
func TestRebaseWhereNothingIsAllowedButToIgnore(t *testing.T) {
	w := newWorld(t)
	ignoring := func(name string) *policy.Policy {
		return version([]any{"IGNORE"}, "tables", dol, "allowed").With("IGNORE", "tables", dol, "default").With(name, "version")
	}
	e := w.report(dol, "VALIDATION_ERROR", "")
	for i, name := range []string{"2.0.0", "3.0.0"} {
		to := ignoring(name)
		next, effects := w.rebase(&e, to)
		if next.State != recoup.Active || next.Disposition != "ARCHIVE" || len(effects.Notices.All()) != 1-i {
			t.Errorf("%s: %s %s, notified %v", name, next.State, next.Disposition, effects.Notices.All())
		}
		e, w.policy = next, to
	}
	w = newWorld(t)
	log := w.report(errorLog, "NETWORK_TIMEOUT", recoup.Critical)
	next, _ := w.rebase(&log, version([]any{"ARCHIVE"}, "tables", errorLog, "allowed").With("ARCHIVE", "tables", errorLog, "default"))
	if log.Disposition != "IGNORE" || next.Disposition != "ARCHIVE" || next.ParkReason != log.ParkReason {
		t.Errorf("%s became %s, for %s", log.Disposition, next.Disposition, next.ParkReason)
	}
}

// An expiry that is not announced yet is announced, whatever the last notice was.
func TestRebaseAnnouncesTheExpiry(t *testing.T) {
	for name, row := range map[string]struct {
		severity recoup.Severity
		reminded time.Duration // before it expires
		to       *policy.Policy
		want     int
	}{
		"it begins to block":          {recoup.Low, 12 * time.Hour, version("LONG", "tables", dol, "ttl").With(map[string]any{}, "severities", "LOW"), 1},
		"notice is given sooner":      {recoup.Critical, 36 * time.Hour, version("48h", "escalation", "expiry_notice"), 1},
		"notice was given":            {recoup.Critical, 12 * time.Hour, version("48h", "escalation", "expiry_notice"), 0},
		"notice is still to be given": {recoup.Critical, 60 * time.Hour, version("48h", "escalation", "expiry_notice"), 0},
	} {
		w := newWorld(t)
		w.policy = w.policy.With(nil, "retry", "categories", "TRANSIENT", "window")
		e := w.report(dol, "NETWORK_TIMEOUT", row.severity)
		e.RemindedAt, w.now = e.ExpiresAt.Add(-row.reminded), e.ExpiresAt.Add(-6*time.Hour)
		_, effects := w.rebase(&e, row.to.With(nil, "retry", "categories", "TRANSIENT", "window"))
		notified := 0
		for _, n := range effects.Notices.All() {
			if n.Kind == wire.NoticeExpiring {
				notified++
			}
		}
		if notified != row.want {
			t.Errorf("%s: notified %v", name, effects.Notices.All())
		}
	}
}
