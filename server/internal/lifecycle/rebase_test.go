package lifecycle_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// version returns the default policy under another name, with one value of its
// file replaced if a path is given.
func version(value any, at ...string) *policy.Policy {
	p := policy.Default().With("2.0.0", "version")
	if len(at) > 0 {
		p = p.With(value, at...)
	}
	return p
}

// without returns another version whose file lacks a table, and nothing else.
func without(t testing.TB, table string) *policy.Policy {
	t.Helper()
	file := strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: 2.0.0", 1)
	before, rest, found := strings.Cut(file, "\n  "+table+":\n")
	_, after, _ := strings.Cut(rest, "\n\n")
	p, err := policy.Load("without.yaml", []byte(before+"\n"+after), nil)
	if err != nil || !found {
		t.Fatal(err)
	}
	return p
}

// rebase judges e by another version, knowing the one it had.
func (w *world) rebase(e *recoup.Error, to *policy.Policy) (recoup.Error, lifecycle.Effects) {
	w.Helper()
	next, effects, err := lifecycle.Step(to, e, lifecycle.Rebase{By: "ada", Reason: "new rules", From: w.policy}, w.now)
	if err != nil {
		w.Fatalf("rebase: %v", err)
	}
	return next, effects
}

// What becomes of an open error whose policy changes, with the outcome written out.
func TestRebase(t *testing.T) {
	type want struct {
		state       recoup.State
		disposition recoup.Disposition
		reason      recoup.ParkReason
		owner       string
		ttl         time.Duration
		max         int
		notice      wire.NoticeKind
	}
	noPark := version([]any{"RETRY", "ARCHIVE"}, "tables", dol, "allowed")
	pending := func(w *world) recoup.Error { return w.report(dol, "NETWORK_TIMEOUT", "") }
	failedTwice := func(w *world) recoup.Error {
		e := pending(w)
		e = w.failOnce(&e, "NETWORK_TIMEOUT")
		return w.failOnce(&e, "NETWORK_TIMEOUT")
	}
	parked := func(w *world) recoup.Error { return w.report(dol, "VALIDATION_ERROR", "") }
	escalated := func(w *world) recoup.Error {
		e := parked(w)
		e, _ = w.must(&e, lifecycle.Escalate{By: "ada"})
		return e
	}
	low := func(w *world) recoup.Error { return w.report(dol, "NETWORK_TIMEOUT", recoup.Low) }
	unparked := func(w *world) recoup.Error {
		e := parked(w)
		e, _ = w.must(&e, lifecycle.Unpark{By: "bob"})
		return e
	}
	for _, row := range []struct {
		name string
		make func(*world) recoup.Error
		to   *policy.Policy
		want want
	}{
		{"nothing new", pending, version(nil), want{"RETRY_PENDING", "RETRY", "", "system", 30 * day, 5, ""}},
		{"another TTL", pending, version("10d", "tiers", "MEDIUM", "lasts"), want{"RETRY_PENDING", "RETRY", "", "system", 10 * day, 5, ""}},
		{"a larger budget", failedTwice, version(9, "hubs", "dol-filings", "overrides", "max_retries"),
			want{"RETRY_PENDING", "RETRY", "", "system", 30 * day, 9, ""}},
		{"a budget that is spent", failedTwice,
			version(nil, "hubs", "dol-filings", "overrides").With(2, "retry", "categories", "TRANSIENT", "max_retries"),
			want{"PARKED", "PARKED", "MAX_RETRIES_EXCEEDED", "dol-filings-team", 30 * day, 2, "PARKED"}},
		{"a budget below what was used", failedTwice,
			version(nil, "hubs", "dol-filings", "overrides").With(1, "retry", "categories", "TRANSIENT", "max_retries"),
			want{"PARKED", "PARKED", "MAX_RETRIES_EXCEEDED", "dol-filings-team", 30 * day, 2, "PARKED"}},
		{"a window that is over", failedTwice, version("5s", "retry", "categories", "TRANSIENT", "window"),
			want{"PARKED", "PARKED", "RETRY_WINDOW_CLOSED", "dol-filings-team", 30 * day, 5, "PARKED"}},
		{"a condition that parks", pending, version([]any{"NETWORK_TIMEOUT"}, "parking", "conditions", "1", "codes"),
			want{"PARKED", "PARKED", "DATA_QUALITY", "dol-filings-team", 30 * day, 5, "PARKED"}},
		{"a table that archives", pending, version("ARCHIVE", "tables", dol, "default"),
			want{"ACTIVE", "ARCHIVE", "", "system", 30 * day, 5, ""}},
		{"what was archived is retried", low, version(map[string]any{}, "severities", "LOW"),
			want{"RETRY_PENDING", "RETRY", "", "system", 30 * day, 5, ""}},
		{"what was archived is parked", low,
			version(map[string]any{"disposition": "PARK", "park_reason": "ESCALATION_REQUIRED"}, "severities", "LOW"),
			want{"PARKED", "PARKED", "ESCALATION_REQUIRED", "dol-filings-team", 30 * day, 5, "PARKED"}},
		{"what was archived is ignored", low, version([]any{"RETRY", "PARK", "ARCHIVE", "IGNORE"}, "tables", dol, "allowed"),
			want{"ACTIVE", "IGNORE", "", "system", 90 * day, 5, ""}},
		{"parked stays parked", parked, version("ARCHIVE", "tables", dol, "default"),
			want{"PARKED", "PARKED", "NON_RETRYABLE_ERROR", "dol-filings-team", 30 * day, 1, ""}},
		{"escalated stays escalated", escalated, version("new-lead", "hubs", "dol-filings", "lead"),
			want{"ESCALATED", "PARKED", "NON_RETRYABLE_ERROR", "new-lead", 30 * day, 1, "PARKED"}},
		{"parked, and PARK is no longer allowed", parked, noPark,
			want{"ACTIVE", "ARCHIVE", "NON_RETRYABLE_ERROR", "system", 30 * day, 1, "NOT_PARKED"}},
		{"escalated, and PARK is no longer allowed", escalated, noPark,
			want{"ACTIVE", "ARCHIVE", "NON_RETRYABLE_ERROR", "system", 30 * day, 1, "NOT_PARKED"}},
		{"could not be parked, and now can", func(w *world) recoup.Error { return w.report(discovery, "NETWORK_TIMEOUT", recoup.Critical) },
			version([]any{"RETRY", "PARK", "ARCHIVE"}, "tables", discovery, "allowed"),
			want{"PARKED", "PARKED", "ESCALATION_REQUIRED", "company-target-team", 90 * day, 5, "PARKED"}},
		{"a person's try stands while the answer does", unparked, version("10d", "tiers", "MEDIUM", "lasts"),
			want{"RETRY_PENDING", "RETRY", "", "system", 10 * day, 1, ""}},
		{"a person's try ends where RETRY is not allowed", unparked, version([]any{"PARK", "ARCHIVE"}, "tables", dol, "allowed").With("ARCHIVE", "tables", dol, "default"),
			want{"ACTIVE", "ARCHIVE", "", "system", 30 * day, 1, ""}},
		{"must be parked, and cannot be", pending, noPark.With([]any{"NETWORK_TIMEOUT"}, "parking", "conditions", "1", "codes"),
			want{"ACTIVE", "ARCHIVE", "DATA_QUALITY", "system", 30 * day, 5, "NOT_PARKED"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			e := row.make(w)
			next, effects := w.rebase(&e, row.to)
			got := want{next.State, next.Disposition, next.ParkReason, next.Owner(), next.ExpiresAt.Sub(next.CreatedAt), next.MaxRetries, ""}
			if all := effects.Notices.All(); len(all) > 0 {
				got.notice = all[0].Kind
			}
			if got != row.want {
				t.Errorf("\n got %+v\nwant %+v", got, row.want)
			}
			checkRebased(t, row.to, e, next)
			h := effects.History
			if h.Input != "rebase" || h.Actor != "ada" || h.Reason != "new rules" || h.PolicyVersion != "2.0.0" ||
				h.Before != e.Snapshot() || h.After != next.Snapshot() {
				t.Errorf("history %+v", h)
			}
		})
	}
}

// Why a rebase is refused; the error keeps its version.
func TestRebaseRefused(t *testing.T) {
	w := newWorld(t)
	alone := w.reportOf(errorLog, "NETWORK_TIMEOUT", "")
	alone.EntityID = ""
	log, _ := w.must(nil, alone)
	fresh := w.report(dol, "NETWORK_TIMEOUT", "")
	fresh.PolicyVersion = ""
	for _, row := range []struct {
		name string
		e    recoup.Error
		to   *policy.Policy
		want string
	}{
		{"the table is gone", w.report(discovery, "NETWORK_TIMEOUT", ""), without(t, discovery), "no such table"},
		{"the table was kept for ever", w.report(masterLog, "NETWORK_TIMEOUT", ""), version("LONG", "tables", masterLog, "ttl"), "does not expire"},
		{"the table is kept for ever from now on", w.report(errorLog, "NETWORK_TIMEOUT", ""), version("INFINITE", "tables", errorLog, "ttl"), "kept for ever"},
		{"an entity is required", log, version(true, "tables", errorLog, "entity_required"), "requires an entity"},
		{"the table holds dead letters", w.report(dol, "NETWORK_TIMEOUT", ""), version(true, "tables", dol, "dead_letters"), "dead letters"},
		{"dead letters are plain errors", w.report(letters, "NETWORK_TIMEOUT", ""), version(false, "tables", letters, "dead_letters"), "dead letters"},
		{"not admitted yet", fresh, version(nil), "not admitted"},
	} {
		next, effects, err := lifecycle.Step(row.to, &row.e, lifecycle.Rebase{By: "ada", From: w.policy}, w.now)
		var refusal *lifecycle.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, row.want) || len(refusal.Exits) > 0 {
			t.Errorf("%s: %v", row.name, err)
		}
		if next != row.e || effects != (lifecycle.Effects{}) {
			t.Errorf("%s: it changed", row.name)
		}
	}
}

// An error that has the version already is no news.
func TestRebaseToTheSameVersion(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	w.wait(time.Hour)
	if next, effects := w.must(&e, lifecycle.Rebase{By: "ada"}); next != e || effects != (lifecycle.Effects{}) {
		t.Errorf("changed: %+v", effects)
	}
}

// Without the earlier version every answer is a new one.
func TestRebaseFromAnUnknownVersion(t *testing.T) {
	w := newWorld(t)
	w.policy = version("10d", "tiers", "MEDIUM", "lasts").With("12h", "retry", "categories", "TRANSIENT", "window")
	e := w.report(people, "NETWORK_TIMEOUT", "")
	next, _, err := lifecycle.Step(policy.Default(), &e, lifecycle.Rebase{By: "ada"}, w.now)
	if err != nil || !next.ExpiresAt.Equal(e.CreatedAt.Add(30*day)) || !next.WindowEndsAt.Equal(e.CreatedAt.Add(day)) {
		t.Errorf("%v: expires %v, window %v", err, next.ExpiresAt, next.WindowEndsAt)
	}
	by := w.report(dol, "VALIDATION_ERROR", "")
	by, _ = w.must(&by, lifecycle.Unpark{By: "bob"})
	if next, _, err = lifecycle.Step(policy.Default(), &by, lifecycle.Rebase{By: "ada"}, w.now); err != nil || next.State != recoup.Parked {
		t.Errorf("%v: %s", err, next.State)
	}
}

// A worker keeps what it holds, unless the error is no longer to be retried.
func TestRebaseAndLeases(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, token := w.claim(&e)
	kept, _ := w.rebase(&leased, version("1s", "retry", "categories", "TRANSIENT", "window"))
	if kept.Lease != leased.Lease || !kept.NextRetryAt.Equal(leased.NextRetryAt) || kept.State != recoup.RetryPending {
		t.Errorf("the lease is gone: %s %+v", kept.State, kept.Lease)
	}
	for name, to := range map[string]*policy.Policy{
		"parked":   version([]any{"NETWORK_TIMEOUT"}, "parking", "conditions", "1", "codes"),
		"archived": version("ARCHIVE", "tables", dol, "default"),
	} {
		next, effects := w.rebase(&leased, to)
		if !next.LeaseToken.IsZero() || next.LastAttempt != token || next.RetryCount != 0 || effects.History.Worker != "w1" || effects.History.Attempt != token {
			t.Errorf("%s: lease %+v, history %+v", name, next.Lease, effects.History)
		}
	}
}

// The window is measured anew from where it began: at the last unpark.
func TestRebaseMovesTheWindowsEnd(t *testing.T) {
	w := newWorld(t)
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	w.wait(3 * day)
	e, _ = w.must(&e, lifecycle.Unpark{By: "ada"})
	next, _ := w.rebase(&e, version("48h", "retry", "categories", "TRANSIENT", "window"))
	if got := next.WindowEndsAt.Sub(w.now); got != 48*time.Hour {
		t.Errorf("it ends after %v", got)
	}
	if next, _ = w.rebase(&e, version(nil, "retry", "categories", "TRANSIENT", "window")); !next.WindowEndsAt.IsZero() {
		t.Errorf("it ends at %v", next.WindowEndsAt)
	}
}
