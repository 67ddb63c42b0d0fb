package lifecycle_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Where policies meet: what becomes of a first report under the default policy,
// with the outcome written out.
func TestFirstReport(t *testing.T) {
	type want struct {
		table       string
		state       recoup.State
		disposition recoup.Disposition
		ttl         time.Duration
		blocking    bool
		reason      recoup.ParkReason
		max         int
		delay       time.Duration // to the first retry
		notice      wire.NoticeKind
	}
	for _, row := range []struct {
		name     string
		table    string
		code     recoup.Code
		severity recoup.Severity
		want     want
	}{
		{"HIGH in company_target: the hub's TTL beats the severity's", target, "NETWORK_TIMEOUT", recoup.High,
			want{target, "RETRY_PENDING", "RETRY", 30 * day, true, "", 5, 2 * time.Second, ""}},
		{"HIGH in dol_errors: the severity's TTL", dol, "NETWORK_TIMEOUT", recoup.High,
			want{dol, "RETRY_PENDING", "RETRY", 7 * day, true, "", 5, 2 * time.Second, ""}},
		{"CRITICAL in dol_errors parks at once", dol, "NETWORK_TIMEOUT", recoup.Critical,
			want{dol, "PARKED", "PARKED", 30 * day, true, "ESCALATION_REQUIRED", 5, 0, "PARKED"}},
		{"CRITICAL where PARK is not allowed", discovery, "NETWORK_TIMEOUT", recoup.Critical,
			want{discovery, "ACTIVE", "ARCHIVE", 90 * day, false, "ESCALATION_REQUIRED", 5, 0, "NOT_PARKED"}},
		{"MEDIUM in url_discovery_failures", discovery, "NETWORK_TIMEOUT", recoup.Medium,
			want{discovery, "ACTIVE", "ARCHIVE", 90 * day, false, "", 5, 0, ""}},
		{"STRUCTURAL in url_discovery_failures", discovery, "SCHEMA_INVALID", recoup.Medium,
			want{discovery, "ACTIVE", "ARCHIVE", 90 * day, false, "", 1, 0, ""}},
		{"fatal and HIGH in url_discovery_failures: would be retried, must be parked, cannot be", discovery, "VALIDATION_ERROR", recoup.High,
			want{discovery, "ACTIVE", "ARCHIVE", 7 * day, false, "NON_RETRYABLE_ERROR", 1, 0, "NOT_PARKED"}},
		{"LOW in dol_errors becomes ARCHIVE and opens the gate", dol, "NETWORK_TIMEOUT", recoup.Low,
			want{dol, "ACTIVE", "ARCHIVE", 90 * day, false, "", 5, 0, ""}},
		{"LOW in people_errors: the hub's TTL", people, "NETWORK_TIMEOUT", recoup.Low,
			want{people, "ACTIVE", "ARCHIVE", 30 * day, false, "", 5, 0, ""}},
		{"LOW in the global log", errorLog, "NETWORK_TIMEOUT", recoup.Low,
			want{errorLog, "ACTIVE", "IGNORE", 90 * day, false, "", 5, 0, ""}},
		{"fatal VALIDATION_ERROR in dol_errors", dol, "VALIDATION_ERROR", "",
			want{dol, "PARKED", "PARKED", 30 * day, true, "NON_RETRYABLE_ERROR", 1, 0, "PARKED"}},
		{"CRITICAL in the INFINITE log", masterLog, "NETWORK_TIMEOUT", recoup.Critical,
			want{masterLog, "ACTIVE", "IGNORE", 0, false, "", 5, 0, "NOT_PARKED"}},
		{"an unknown table", "no.such_table", "NETWORK_TIMEOUT", "",
			want{orphans, "PARKED", "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, "PARKED"}},
		{"a dead table", "outreach.bit_errors", "NETWORK_TIMEOUT", "",
			want{orphans, "PARKED", "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, "PARKED"}},
		{"MISSING_NAME in people_errors", people, "MISSING_NAME", "",
			want{people, "PARKED", "PARKED", 30 * day, true, "DATA_QUALITY", 3, 0, "PARKED"}},
		{"QUOTA_EXCEEDED waits for its class", dol, "QUOTA_EXCEEDED", "",
			want{dol, "RETRY_PENDING", "RETRY", 30 * day, true, "", 5, 15 * time.Minute, ""}},
		{"OPERATIONAL waits five minutes, and DOL raises its budget", dol, "UNREGISTERED_CODE", "",
			want{dol, "RETRY_PENDING", "RETRY", 30 * day, true, "", 5, 5 * time.Minute, ""}},
		{"OPERATIONAL elsewhere has three", people, "UNREGISTERED_CODE", "",
			want{people, "RETRY_PENDING", "RETRY", 30 * day, true, "", 3, 5 * time.Minute, ""}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			e, effects := w.must(nil, w.reportOf(row.table, row.code, row.severity))
			got := want{e.Table, e.State, e.Disposition, 0, e.Blocking, e.ParkReason, e.MaxRetries, 0, ""}
			if !e.ExpiresAt.IsZero() {
				got.ttl = e.ExpiresAt.Sub(e.CreatedAt)
			}
			if !e.NextRetryAt.IsZero() {
				got.delay = e.NextRetryAt.Sub(w.now)
			}
			if all := effects.Notices.All(); len(all) > 0 {
				got.notice = all[0].Kind
			}
			if got != row.want {
				t.Errorf("\n got %+v\nwant %+v", got, row.want)
			}
		})
	}
}

func TestReportWithoutEntityIsAnOrphan(t *testing.T) {
	w := newWorld(t)
	in := w.reportOf(dol, "NETWORK_TIMEOUT", "")
	in.EntityID = ""
	if e, _ := w.must(nil, in); e.Table != orphans || e.State != recoup.Parked {
		t.Errorf("got %s in %s", e.State, e.Table)
	}
	in.Table = letters
	if e, _ := w.must(nil, in); e.Table != letters || e.Blocking {
		t.Errorf("a dead letter without an entity: %s, blocking %v", e.Table, e.Blocking)
	}
	in.EntityID = "CO-1"
	if e, _ := w.must(nil, in); !e.Blocking {
		t.Error("a dead letter with an entity does not block it")
	}
}

// Spec 000, 5.1: each wait of each category, then the park (5.3).
func TestRetriesThenPark(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for _, row := range []struct {
		name  string
		table string
		code  recoup.Code
		waits []time.Duration
	}{
		{"TRANSIENT", target, "NETWORK_TIMEOUT", []time.Duration{2e9, 4e9, 8e9, 16e9, 32e9}},
		{"OPERATIONAL", people, "UNREGISTERED_CODE", []time.Duration{minutes(5), minutes(10), minutes(15)}},
		{"OPERATIONAL in the DOL hub", dol, "UNREGISTERED_CODE",
			[]time.Duration{minutes(5), minutes(10), minutes(15), minutes(20), minutes(25)}},
		{"long delay", target, "RATE_LIMIT_EXCEEDED",
			[]time.Duration{minutes(15), minutes(15), minutes(15), minutes(15), minutes(15)}},
		{"short delay", target, "DATABASE_CONNECTION_ERROR",
			[]time.Duration{minutes(1), minutes(1), minutes(1), minutes(1), minutes(1)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			e := w.report(row.table, row.code, "")
			for i, wait := range row.waits {
				if got := e.NextRetryAt.Sub(w.now); got != wait || e.RetryCount != i {
					t.Fatalf("wait %d: %v after %d retries, want %v", i+1, got, e.RetryCount, wait)
				}
				e = w.failOnce(&e, row.code)
			}
			if e.State != recoup.Parked || e.ParkReason != recoup.MaxRetriesExceeded || e.ParkedBy != recoup.System ||
				!e.ParkedAt.Equal(w.now) || !e.RetryExhausted || e.Disposition != "PARKED" || e.EscalationLevel != 1 {
				t.Errorf("after the last retry: %+v", e)
			}
		})
	}
}

func TestRetryAfterWinsWhenLarger(t *testing.T) {
	w := newWorld(t)
	in := w.reportOf(dol, "NETWORK_TIMEOUT", "")
	in.Failure.RetryAfter = time.Hour
	e, _ := w.must(nil, in)
	if got := e.NextRetryAt.Sub(w.now); got != time.Hour {
		t.Errorf("waits %v", got)
	}
	in.Failure.RetryAfter = 25 * time.Hour
	if e, _ = w.must(nil, in); e.State != recoup.Parked || e.ParkReason != recoup.RetryWindowClosed {
		t.Errorf("a retry outside the window: %s %s", e.State, e.ParkReason)
	}
}

func TestFailureThatIsNoLongerRetryable(t *testing.T) {
	for _, row := range []struct {
		code   recoup.Code
		reason recoup.ParkReason
		page   bool
	}{
		{"VALIDATION_ERROR", recoup.NonRetryableError, false},
		{"CONTENT_REJECTED", recoup.EscalationRequired, false},
		{"EXTERNAL_API_CHANGED", recoup.ExternalDependency, false},
		{"RUNTIME_BUG", recoup.NonRetryableError, true},
	} {
		w := newWorld(t)
		e := w.report(dol, "NETWORK_TIMEOUT", "")
		leased, token := w.claim(&e)
		next, effects := w.must(&leased, lifecycle.Fail{Token: token, Failure: failure(row.code)})
		if next.State != recoup.Parked || next.ParkReason != row.reason || next.RetryCount != 1 {
			t.Errorf("%s: %s %s after %d", row.code, next.State, next.ParkReason, next.RetryCount)
		}
		paged := false
		for _, n := range effects.Notices.All() {
			paged = paged || n.Kind == wire.NoticePaged && n.To == "platform-team"
		}
		if paged != row.page {
			t.Errorf("%s: paged %v", row.code, paged)
		}
	}
}

// Retries that run out where PARK is not allowed: visible until the TTL.
func TestExhaustedWhereParkIsNotAllowed(t *testing.T) {
	w := newWorld(t)
	e := w.report(discovery, "NETWORK_TIMEOUT", recoup.High)
	for range 5 {
		e = w.failOnce(&e, "NETWORK_TIMEOUT")
	}
	if e.State != recoup.Active || e.Disposition != "ARCHIVE" || e.ParkReason != recoup.MaxRetriesExceeded || !e.NextRetryAt.IsZero() {
		t.Errorf("got %s %s %s", e.State, e.Disposition, e.ParkReason)
	}
}

// Spec 000, 9.2: the report is the first failed lookup, the third parks, and an
// unpark starts the count anew.
func TestThirdFailedLookupParks(t *testing.T) {
	w := newWorld(t)
	streak := 0
	lookup := func(code recoup.Code) lifecycle.Failure {
		f := failure(code)
		f.Streak = streak
		return f
	}
	count := func(effects lifecycle.Effects, op lifecycle.StreakOp) {
		t.Helper()
		if want := (lifecycle.Streak{Family: "domain-lookup", Op: op}); effects.Streak != want {
			t.Fatalf("streak %+v, want %+v", effects.Streak, want)
		}
		streak++
		if op == lifecycle.StreakReset {
			streak = 0
		}
	}
	in := w.reportOf(target, "DOMAIN_NOT_FOUND", "")
	e, effects := w.must(nil, in)
	count(effects, lifecycle.StreakCount)
	for _, code := range []recoup.Code{"DNS_TIMEOUT", "DOMAIN_NO_IMPRINT"} {
		if e.State != recoup.RetryPending {
			t.Fatalf("parked after %d lookups", streak)
		}
		leased, token := w.claim(&e)
		e, effects = w.must(&leased, lifecycle.Fail{Token: token, Failure: lookup(code)})
		count(effects, lifecycle.StreakCount)
	}
	if e.State != recoup.Parked || e.ParkReason != recoup.MaxRetriesExceeded {
		t.Fatalf("the third lookup: %s %s", e.State, e.ParkReason)
	}
	for _, act := range []lifecycle.Input{lifecycle.Unpark{By: "ada"}, lifecycle.Resolve{By: "ada"}} {
		_, effects = w.must(&e, act)
		count(effects, lifecycle.StreakReset)
	}

	// The count is the entity's: a second error of the family inherits it.
	streak = 2
	in = w.reportOf(target, "DOMAIN_NO_IMPRINT", "")
	in.Failure.Streak = streak
	if e, _ = w.must(nil, in); e.State != recoup.Parked {
		t.Errorf("the third lookup in another error: %s", e.State)
	}
}

func TestUnpark(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	for range 5 {
		e = w.failOnce(&e, "NETWORK_TIMEOUT")
	}
	expires := e.ExpiresAt
	w.wait(10 * day) // long after the retry window
	reviewed := w.now
	e, _ = w.must(&e, lifecycle.Review{By: "ada"})
	e, _ = w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
	e, effects := w.must(&e, lifecycle.Unpark{By: "bob", Reason: "fixed"})
	if e.State != recoup.RetryPending || e.RetryCount != 0 || e.MaxRetries != 5 || !e.NextRetryAt.Equal(w.now) ||
		e.EscalationLevel != 0 || e.AssignedTo != "" || !e.ParkedAt.IsZero() || e.ParkReason != "" || !e.LastReviewedAt.Equal(reviewed) {
		t.Errorf("unparked: %+v", e)
	}
	if got := e.WindowEndsAt.Sub(w.now); got != 24*time.Hour {
		t.Errorf("the window ends after %v", got)
	}
	if !e.ExpiresAt.Equal(expires) || effects.Warning != lifecycle.NoWarning {
		t.Errorf("expires %v (was %v), warning %q", e.ExpiresAt, expires, effects.Warning)
	}
}

func TestUnparkJustBeforeTheTTL(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	// One retry now, then after 4, 8, 16 and 32 seconds.
	w.now = e.ExpiresAt.Add(-61 * time.Second)
	if _, effects := w.must(&e, lifecycle.Unpark{By: "ada"}); effects.Warning != lifecycle.NoWarning {
		t.Errorf("warned of retries that fit: %s", effects.Warning)
	}
	w.now = e.ExpiresAt.Add(-60 * time.Second)
	next, effects := w.must(&e, lifecycle.Unpark{By: "ada"})
	if effects.Warning != lifecycle.RetriesOutliveTTL || !next.ExpiresAt.Equal(e.ExpiresAt) {
		t.Errorf("warning %q, expires %v", effects.Warning, next.ExpiresAt)
	}
	w.now = e.ExpiresAt
	if _, _, err := lifecycle.Step(w.policy, &e, lifecycle.Unpark{By: "ada"}, w.now); err == nil {
		t.Error("an error past its TTL was unparked")
	}
}

// A fatal error is never retried by the system; an unpark buys one try.
func TestUnparkOfFatalBuysOneTry(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "VALIDATION_ERROR", "")
	e, _ = w.must(&e, lifecycle.Unpark{By: "ada"})
	if e.MaxRetries != 1 || !e.NextRetryAt.Equal(w.now) {
		t.Fatalf("unparked: %d retries, next %v", e.MaxRetries, e.NextRetryAt)
	}
	if e = w.failOnce(&e, "NETWORK_TIMEOUT"); e.State != recoup.Parked || e.ParkReason != recoup.MaxRetriesExceeded {
		t.Errorf("after the try: %s %s", e.State, e.ParkReason)
	}
}

// A row that was written into the table directly lives from when it was made,
// not from when the engine found it.
func TestReportOfAnOlderFailure(t *testing.T) {
	w := newWorld(t)
	in := w.reportOf(dol, "NETWORK_TIMEOUT", "")
	in.CreatedAt = w.now.Add(-time.Hour)
	e, _ := w.must(nil, in)
	if !e.ExpiresAt.Equal(in.CreatedAt.Add(30*day)) || !e.WindowEndsAt.Equal(in.CreatedAt.Add(day)) || !e.NextRetryAt.Equal(w.now.Add(2*time.Second)) {
		t.Errorf("expires %v, window %v, next %v", e.ExpiresAt, e.WindowEndsAt, e.NextRetryAt)
	}
}
