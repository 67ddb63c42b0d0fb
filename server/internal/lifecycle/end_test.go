package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// Spec 000, 7.1: each trigger, and what an archived error keeps and gains.
func TestArchiveTriggers(t *testing.T) {
	for _, row := range []struct {
		reason recoup.ArchiveReason
		by     string
		act    func(w *world, e *recoup.Error) recoup.Error
	}{
		{"TTL_EXPIRED", "system", func(w *world, e *recoup.Error) recoup.Error {
			w.now = e.ExpiresAt.Add(-1)
			w.refused(e, lifecycle.Expire{}, "INVALID_TRANSITION")
			w.wait(1)
			next, _ := w.must(e, lifecycle.Expire{})
			return next
		}},
		{"MANUAL", "ada", func(w *world, e *recoup.Error) recoup.Error {
			next, _ := w.must(e, lifecycle.ArchiveNow{By: "ada", Reason: "done with it"})
			return next
		}},
		{"SUPERSEDED", "system", func(w *world, e *recoup.Error) recoup.Error {
			_, effects := w.again(e, nil)
			return effects.Superseded.Error
		}},
		{"RESOLVED", "system", func(w *world, e *recoup.Error) recoup.Error {
			*e, _ = w.must(e, lifecycle.Resolve{By: "ada", Reason: "fixed"})
			next, _ := w.must(e, lifecycle.ArchiveNow{})
			return next
		}},
	} {
		t.Run(string(row.reason), func(t *testing.T) {
			w := newWorld(t)
			e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
			e, _ = w.must(&e, lifecycle.Assign{By: "ada", To: "bob"})
			w.wait(time.Hour)
			got := row.act(w, &e)
			if got.ArchiveReason != row.reason || got.ArchivedBy != row.by || !got.ArchivedAt.Equal(w.now) || got.FinalDisposition != e.Disposition ||
				got.PurgeAt.Sub(w.now) != 365*day {
				t.Errorf("gained %+v", got.Archive)
			}
			checkKept(t, e, got)
		})
	}
}

// checkKept compares an archived error with what it was, all fields but those
// that archiving changes.
func checkKept(t interface {
	Helper()
	Errorf(string, ...any)
}, before, after recoup.Error) {
	t.Helper()
	before.State, before.Blocking, before.Replaceable, before.UpdatedAt = after.State, after.Blocking, after.Replaceable, after.UpdatedAt
	before.Archive, before.Lease = after.Archive, after.Lease
	before.LastAttempt, before.LastResult, before.Marks = after.LastAttempt, after.LastResult, after.Marks
	if before != after {
		t.Errorf("archiving changed more than it should:\nwas %+v\nis  %+v", before, after)
	}
}

// Spec 000, 4.4: the four ways out of the park.
func TestParkExits(t *testing.T) {
	for _, row := range []struct {
		in   lifecycle.Input
		want recoup.State
	}{
		{lifecycle.Unpark{By: "ada"}, recoup.RetryPending},
		{lifecycle.Resolve{By: "ada"}, recoup.Resolved},
		{lifecycle.Escalate{By: "ada"}, recoup.Escalated},
		{lifecycle.ArchiveNow{By: "ada"}, recoup.Archived},
	} {
		w := newWorld(t)
		e := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
		next, effects := w.must(&e, row.in)
		if next.State != row.want || effects.History.Actor != "ada" || effects.History.Before.State != recoup.Parked {
			t.Errorf("%T: %s, history %+v", row.in, next.State, effects.History)
		}
	}
}

// Spec 000, 4.3: every trigger parks by itself, with its name as the reason.
func TestParkTriggers(t *testing.T) {
	for _, row := range []struct {
		reason recoup.ParkReason
		run    func(w *world) recoup.Error
	}{
		{"MAX_RETRIES_EXCEEDED", func(w *world) recoup.Error {
			e := w.report(people, "UNREGISTERED_CODE", "")
			for range 3 {
				e = w.failOnce(&e, "UNREGISTERED_CODE")
			}
			return e
		}},
		{"NON_RETRYABLE_ERROR", func(w *world) recoup.Error { return w.report(dol, "VALIDATION_ERROR", "") }},
		{"ESCALATION_REQUIRED", func(w *world) recoup.Error { return w.report(dol, "CONTENT_REJECTED", "") }},
		{"EXTERNAL_DEPENDENCY", func(w *world) recoup.Error { return w.report(dol, "EXTERNAL_API_CHANGED", "") }},
		{"DATA_QUALITY", func(w *world) recoup.Error { return w.report(people, "MISSING_NAME", "") }},
	} {
		e := row.run(newWorld(t))
		if e.State != recoup.Parked || e.Disposition != "PARKED" || e.ParkReason != row.reason || e.ParkedBy != "system" || e.ParkedAt.IsZero() {
			t.Errorf("%s: %s %+v", row.reason, e.State, e.Parking)
		}
	}
}

func TestDeadlinesInOrder(t *testing.T) {
	w := newWorld(t)
	kinds := func(e recoup.Error) (list []lifecycle.Kind) {
		for _, d := range lifecycle.Deadlines(w.policy, &e) {
			list = append(list, d.Kind)
		}
		return list
	}
	pending := w.report(dol, "NETWORK_TIMEOUT", "")
	leased, _ := w.claim(&pending)
	parked := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	short := w.report(dol, "VALIDATION_ERROR", recoup.High)
	short, _ = w.must(&short, lifecycle.Escalate{By: "ada"})
	resolved, _ := w.must(&parked, lifecycle.Resolve{By: "ada"})
	for _, row := range []struct {
		name string
		e    recoup.Error
		want []lifecycle.Kind
	}{
		{"waiting", pending, []lifecycle.Kind{"claim", "close_window", "remind", "expire"}},
		{"leased", leased, []lifecycle.Kind{"lapse", "remind", "expire"}},
		{"parked", parked, []lifecycle.Kind{"remind", "escalate", "expire"}},
		{"the TTL and tier 3 fall together", short, []lifecycle.Kind{"remind", "expire", "escalate"}},
		{"resolved", resolved, []lifecycle.Kind{"archive", "expire"}},
		{"kept for ever", w.report(masterLog, "NETWORK_TIMEOUT", ""), nil},
	} {
		if got := kinds(row.e); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
