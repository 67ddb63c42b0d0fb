package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A late report of an attempt that was counted long ago takes away the lease of
// the next one. That lease counts, or it would be retried for ever.
func TestReportsOfOldAttemptsBuyNothing(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	old := recoup.ID{}
	for claims := 0; e.State == recoup.RetryPending; claims++ {
		if claims > e.MaxRetries {
			t.Fatalf("claimed %d times with a budget of %d", claims, e.MaxRetries)
		}
		leased, token := w.claim(&e)
		if old.IsZero() {
			e, _ = w.must(&leased, lifecycle.Fail{Token: token, Failure: failure("NETWORK_TIMEOUT")})
		} else {
			e, _ = w.again(&leased, func(in *lifecycle.Report) { in.Attempt = old })
		}
		old = token
	}
	if e.ParkReason != recoup.MaxRetriesExceeded {
		t.Errorf("parked with %s", e.ParkReason)
	}
}

// An attempt that failed and was reported as well is one failed lookup, and one
// event.
func TestOneAttemptIsOneFailedLookup(t *testing.T) {
	w := newWorld(t)
	e := w.report(target, "DNS_TIMEOUT", "")
	leased, token := w.claim(&e)
	failed := failure("DNS_TIMEOUT")
	failed.Streak = 1
	e, _ = w.must(&leased, lifecycle.Fail{Token: token, Failure: failed})
	next, effects := w.again(&e, func(in *lifecycle.Report) { in.Attempt, in.Failure.Streak = token, 2 })
	if next.State != recoup.RetryPending || effects.Streak != (lifecycle.Streak{}) || effects.Event != "" {
		t.Errorf("got %s, streak %+v, event %q", next.State, effects.Streak, effects.Event)
	}
}

// The streak that parked an error is the one that its unpark resets, also when
// the error began with another code.
func TestUnparkResetsTheStreakThatParked(t *testing.T) {
	w := newWorld(t)
	e := w.report(target, "NETWORK_TIMEOUT", "")
	for streak := range 3 {
		leased, token := w.claim(&e)
		lookup := failure("DNS_TIMEOUT")
		lookup.Streak = streak
		e, _ = w.must(&leased, lifecycle.Fail{Token: token, Failure: lookup})
	}
	if e.State != recoup.Parked {
		t.Fatalf("the third failed lookup: %s", e.State)
	}
	want := lifecycle.Streak{Family: "domain-lookup", Op: lifecycle.StreakReset}
	if _, effects := w.must(&e, lifecycle.Unpark{By: "ada"}); effects.Streak != want {
		t.Errorf("streak %+v", effects.Streak)
	}
}

// A worse severity, or an older date, does not make a repeat expire sooner.
func TestRepeatDoesNotExpireSooner(t *testing.T) {
	w := newWorld(t)
	parked := w.report(dol, "VALIDATION_ERROR", "")
	for _, change := range []func(*lifecycle.Report){
		func(in *lifecycle.Report) { in.Severity = recoup.High },
		func(in *lifecycle.Report) { in.CreatedAt = w.now.Add(-40 * day) },
	} {
		if next, _ := w.again(&parked, change); next.ExpiresAt.Before(parked.ExpiresAt) {
			t.Errorf("expires %v, was %v", next.ExpiresAt, parked.ExpiresAt)
		}
	}
}

// A notice that was due when a repeat came is still sent, and once.
func TestRepeatKeepsAMissedReview(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(24*time.Hour + time.Minute)
	e, _ = w.again(&e, nil)
	e, effects := w.must(&e, lifecycle.Remind{})
	if n := effects.Notices.All(); len(n) != 1 || n[0].Kind != wire.NoticeReviewMissed {
		t.Fatalf("notified %v", n)
	}
	e, _ = w.again(&e, nil)
	w.refused(&e, lifecycle.Remind{}, "INVALID_TRANSITION")
}

// A clock that steps back sends no notice twice.
func TestRemindersSurviveAClockThatStepsBack(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(24 * time.Hour)
	e, _ = w.must(&e, lifecycle.Remind{})
	w.wait(-time.Millisecond)
	e, _ = w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
	w.wait(time.Minute)
	w.refused(&e, lifecycle.Remind{}, "INVALID_TRANSITION")
}

// An error that begins to block on its last day is announced at once.
func TestLateBlockIsAnnounced(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Low)
	w.now = e.ExpiresAt.Add(-12 * time.Hour)
	e, _ = w.must(&e, lifecycle.Park{By: "ada", Reason: "look"})
	_, effects := w.must(&e, lifecycle.Remind{})
	if n := effects.Notices.All(); len(n) != 1 || n[0].Kind != wire.NoticeExpiring {
		t.Errorf("notified %v", n)
	}
}

// A runtime bug pages wherever it is reported, and not again for a repeat.
func TestRuntimeBugPagesOnce(t *testing.T) {
	pages := func(effects lifecycle.Effects) (n int) {
		for _, notice := range effects.Notices.All() {
			if notice.Kind == wire.NoticePaged {
				n++
			}
		}
		return n
	}
	w := newWorld(t)
	if _, effects := w.must(nil, w.reportOf(errorLog, "RUNTIME_BUG", recoup.Low)); pages(effects) != 1 {
		t.Errorf("in the log: %d pages", pages(effects))
	}
	e, effects := w.must(nil, w.reportOf(dol, "RUNTIME_BUG", ""))
	if pages(effects) != 1 {
		t.Errorf("first: %d pages", pages(effects))
	}
	if _, effects = w.again(&e, nil); pages(effects) != 0 {
		t.Errorf("repeat: %d pages", pages(effects))
	}
}

// Orphans remember the table they were meant for, and only those meant for the
// same one replace each other.
func TestOrphansKeepTheirTable(t *testing.T) {
	w := newWorld(t)
	first := w.report("outreach.bit_errors", "NETWORK_TIMEOUT", "")
	if first.ReportedTable != "outreach.bit_errors" || first.Table != orphans {
		t.Fatalf("%q in %q", first.ReportedTable, first.Table)
	}
	if _, _, err := lifecycle.Step(w.policy, &first, w.reportOf("outreach.blog_errors", "NETWORK_TIMEOUT", ""), w.now); err == nil {
		t.Error("an orphan of another table was replaced")
	}
	if _, effects := w.must(&first, w.reportOf("outreach.bit_errors", "NETWORK_TIMEOUT", "")); effects.Superseded == nil {
		t.Error("an orphan of the same table was not replaced")
	}
	if e := w.report(dol, "NETWORK_TIMEOUT", ""); e.ReportedTable != "" {
		t.Errorf("no orphan, but meant for %q", e.ReportedTable)
	}
}

// A result that is sent again was accepted, and stays so.
func TestResultSentAgain(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&e)
	for _, in := range []lifecycle.Input{
		lifecycle.Succeed{Token: token},
		lifecycle.Fail{Token: token, Failure: failure("NETWORK_TIMEOUT")},
	} {
		done, _ := w.must(&leased, in)
		w.wait(time.Second)
		if again, effects := w.must(&done, in); again != done || effects != (lifecycle.Effects{}) {
			t.Errorf("%T again: %+v", in, effects)
		}
	}
	// Another result for the same attempt is not the one that was accepted.
	done, _ := w.must(&leased, lifecycle.Succeed{Token: token})
	w.refused(&done, lifecycle.Fail{Token: token, Failure: failure("NETWORK_TIMEOUT")}, "LEASE_LOST")
}

// Whoever lost a lease hears what happened instead.
func TestLostLeaseSaysWhatHappened(t *testing.T) {
	for _, row := range []struct {
		act  func(w *world, leased *recoup.Error) recoup.Error
		want string
	}{
		{func(w *world, l *recoup.Error) recoup.Error {
			e, _ := w.must(l, lifecycle.Park{By: "ada", Reason: "look"})
			return e
		}, "parked by ada, look"},
		{func(w *world, l *recoup.Error) recoup.Error {
			e, _ := w.must(l, lifecycle.Resolve{By: "ada"})
			return e
		}, "resolved by ada"},
		{func(w *world, l *recoup.Error) recoup.Error {
			_, effects := w.again(l, nil)
			return effects.Superseded.Error
		}, "archived by system as SUPERSEDED"},
		{func(w *world, l *recoup.Error) recoup.Error {
			w.now = l.LeaseEndsAt
			e, _ := w.must(l, lifecycle.Claim{Token: w.id(), Worker: "w2"})
			return e
		}, "now held by w2"},
		{func(w *world, l *recoup.Error) recoup.Error {
			w.now = l.LeaseEndsAt
			e, _ := w.must(l, lifecycle.Lapse{})
			return e
		}, "ran out"},
	} {
		w := newWorld(t)
		e := w.report(dol, "NETWORK_TIMEOUT", "")
		leased, token := w.claim(&e)
		after := row.act(w, &leased)
		_, _, err := lifecycle.Step(w.policy, &after, lifecycle.Succeed{Token: token}, w.now)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v does not say %q", err, row.want)
		}
	}
}

// Whoever takes a lease away leaves in the history whose it was.
func TestHistoryOfARevokedLease(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&e)
	rows := map[string]recoup.Transition{}
	_, parked := w.must(&leased, lifecycle.Park{By: "ada", Reason: "look"})
	_, resolved := w.must(&leased, lifecycle.Resolve{By: "ada"})
	_, archived := w.must(&leased, lifecycle.ArchiveNow{By: "ada"})
	_, replaced := w.again(&leased, nil)
	rows["park"], rows["resolve"], rows["archive"] = parked.History, resolved.History, archived.History
	rows["supersede"] = replaced.Superseded.History
	for act, h := range rows {
		if h.Worker != "w1" || h.Attempt != token || !h.ClaimedAt.Equal(w.now) {
			t.Errorf("%s: %+v", act, h)
		}
	}
}

func TestIncompleteInputs(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	w.now = e.NextRetryAt
	w.refused(&e, lifecycle.Claim{Worker: "w1"}, "INVALID_TRANSITION")
	leased, token := w.claim(&e)
	w.refused(&leased, lifecycle.Fail{Token: token}, "INVALID_TRANSITION")
}

// An error whose retry turned out to be hopeless is unparked as such.
func TestUnparkAfterAFatalRetryBuysOneTry(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	e = w.failOnce(&e, "VALIDATION_ERROR")
	if e, _ = w.must(&e, lifecycle.Unpark{By: "ada"}); e.MaxRetries != 1 || !e.WindowEndsAt.IsZero() {
		t.Errorf("%d retries, window %v", e.MaxRetries, e.WindowEndsAt)
	}
}

// What could not be parked stays as it is when it is reported again as
// something milder.
func TestRepeatOfWhatCouldNotBeParked(t *testing.T) {
	w := newWorld(t)
	e := w.report(discovery, "SLOT_CONFLICT", recoup.High) // unproven: not retryable
	next, _ := w.again(&e, func(in *lifecycle.Report) { in.Failure.Class = recoup.ClassShortDelay })
	if next.State != recoup.Active || next.Disposition != "ARCHIVE" || next.ParkReason != e.ParkReason {
		t.Errorf("got %s %s %s", next.State, next.Disposition, next.ParkReason)
	}
}

// An error resolved after its TTL is archived as resolved.
func TestResolvedIsArchivedAsResolved(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.now = e.ExpiresAt.Add(time.Second)
	e, _ = w.must(&e, lifecycle.Resolve{By: "ada"})
	if e, _ = w.must(&e, lifecycle.Expire{}); e.ArchiveReason != recoup.ResolvedArchive {
		t.Errorf("archived as %s", e.ArchiveReason)
	}
}

// A ladder with two rungs ends at the second.
func TestShortLadder(t *testing.T) {
	w := newWorld(t)
	short := *w.policy
	short.Ladder = short.Ladder[:2]
	w.policy = &short
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	e, _ = w.must(&e, lifecycle.Escalate{By: "ada"})
	w.refused(&e, lifecycle.Escalate{By: "ada"}, "INVALID_TRANSITION")
}

// A repeat comes no sooner than what it replaces was due.
func TestRepeatDoesNotPullARetryAhead(t *testing.T) {
	w := newWorld(t)
	in := w.reportOf(dol, "NETWORK_TIMEOUT", "")
	in.Failure.RetryAfter = time.Hour
	e, _ := w.must(nil, in)
	if next, _ := w.again(&e, nil); !next.NextRetryAt.Equal(e.NextRetryAt) {
		t.Errorf("due %v, was %v", next.NextRetryAt, e.NextRetryAt)
	}
	low, _ := w.must(&e, lifecycle.Park{By: "ada", Reason: "look"})
	if next, _ := w.again(&low, nil); !next.NextRetryAt.IsZero() {
		t.Errorf("parked and due %v", next.NextRetryAt)
	}
}

// The streak is reset whatever happened to the error since it was counted.
func TestStreakIsResetAfterOtherFailures(t *testing.T) {
	w := newWorld(t)
	e := w.report(target, "NETWORK_TIMEOUT", "")
	e = w.failOnce(&e, "DNS_TIMEOUT")
	e = w.failOnce(&e, "NETWORK_TIMEOUT")
	e, _ = w.again(&e, nil)
	want := lifecycle.Streak{Family: "domain-lookup", Op: lifecycle.StreakReset}
	e, effects := w.must(&e, lifecycle.Resolve{By: "ada"})
	if effects.Streak != want || e.StreakFamily != "" {
		t.Errorf("streak %+v, still in %q", effects.Streak, e.StreakFamily)
	}
	plain := w.report(target, "NETWORK_TIMEOUT", "")
	if _, effects = w.must(&plain, lifecycle.Resolve{By: "ada"}); effects.Streak != (lifecycle.Streak{}) {
		t.Errorf("an error that counted nothing reset %+v", effects.Streak)
	}
}

// A parked error stays as hopeless as it was found to be.
func TestRepeatOfAFatalErrorStaysFatal(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	e = w.failOnce(&e, "VALIDATION_ERROR")
	e, _ = w.again(&e, nil)
	if e, _ = w.must(&e, lifecycle.Unpark{By: "ada"}); e.MaxRetries != 1 {
		t.Errorf("an unpark buys %d retries", e.MaxRetries)
	}
}

// What must be parked and cannot be keeps the reason, also as a repeat.
func TestFatalRepeatWhereParkIsNotAllowed(t *testing.T) {
	w := newWorld(t)
	in := w.reportOf(discovery, "SLOT_CONFLICT", recoup.High)
	in.Failure.Class = recoup.ClassShortDelay // proven
	e, _ := w.must(nil, in)
	next, _ := w.again(&e, nil) // unproven
	if next.State != recoup.Active || next.ParkReason != recoup.NonRetryableError || !next.NextRetryAt.IsZero() {
		t.Errorf("got %s %s, due %v", next.State, next.ParkReason, next.NextRetryAt)
	}
}

// A review that was missed before somebody escalated is notified all the same.
func TestMissedReviewSurvivesAnEscalation(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(25 * time.Hour)
	_, effects := w.must(&e, lifecycle.Escalate{By: "ada"})
	if n := effects.Notices.All(); len(n) != 2 || n[0] != (lifecycle.Notice{Kind: "REVIEW_MISSED", To: "dol-filings-team"}) {
		t.Errorf("notified %v", n)
	}
	e, _ = w.must(&e, lifecycle.Remind{})
	if _, effects = w.must(&e, lifecycle.Escalate{By: "ada"}); len(effects.Notices.All()) != 1 {
		t.Errorf("notified again: %v", effects.Notices.All())
	}
}

// A report of what went wrong in an attempt whose lease expired is an event of its
// own, but the attempt is not counted again.
func TestReportOfAnExpiredAttempt(t *testing.T) {
	w := newWorld(t)
	e := w.report(target, "DNS_TIMEOUT", "")
	leased, token := w.claim(&e)
	w.now = leased.LeaseEndsAt
	e, _ = w.must(&leased, lifecycle.Lapse{})
	late := func(in *lifecycle.Report) { in.Attempt, in.Failure.Streak = token, 1 }
	e, effects := w.again(&e, late)
	if e.RetryCount != 1 || effects.Event != "DNS_TIMEOUT" || effects.Streak.Op != lifecycle.StreakCount {
		t.Errorf("count %d, event %q, streak %+v", e.RetryCount, effects.Event, effects.Streak)
	}
	if e, effects = w.again(&e, late); e.RetryCount != 1 || effects.Event != "" || effects.Streak != (lifecycle.Streak{}) {
		t.Errorf("again: count %d, event %q, streak %+v", e.RetryCount, effects.Event, effects.Streak)
	}
}
