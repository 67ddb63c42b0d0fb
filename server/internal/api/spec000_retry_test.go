package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

// claimNow leases what is due in a table right now.
func (w *world) claimNow(table string) []recoup.Error {
	w.Helper()
	var out recoup.RetryClaimed
	w.post("/v1/retries/claim", recoup.RetryClaim{Tables: []string{table}, Worker: "w", Limit: 100}).ok(&out)
	return out.Errors
}

// fail waits until the next retry of an error, claims it and fails it.
func (w *world) fail(e recoup.Error, code string) recoup.Error {
	w.Helper()
	if early := w.claimNow(e.Table); len(early) > 0 {
		w.Fatalf("claimed %s before its time", early[0].Code)
	}
	w.wait(e.NextRetryAt.Sub(w.clock()))
	claimed := w.claimNow(e.Table)
	if len(claimed) != 1 || claimed[0].ID != e.ID {
		w.Fatalf("at its time, claimed %d", len(claimed))
	}
	var acted recoup.ActResult
	w.post("/v1/retries/"+e.ID.String()+"/fail", recoup.RetryResult{LeaseToken: claimed[0].LeaseToken, Code: code}).ok(&acted)
	return acted.Error
}

// Spec 000, 4.1, 4.2, 5.1 to 5.3, 9.1 and 10.1: retries by category, each at its
// time and not before, then a person.
func TestSpec000Retries(t *testing.T) {
	minutes := func(list ...int) (waits []time.Duration) {
		for _, n := range list {
			waits = append(waits, time.Duration(n)*time.Minute)
		}
		return waits
	}
	operational := minutes(5, 10, 15)
	rows := []struct {
		row, table, code string
		waits            []time.Duration
		window           time.Duration
	}{
		{"5.1, TRANSIENT", target, "NETWORK_TIMEOUT", []time.Duration{2e9, 4e9, 8e9, 16e9, 32e9}, day},
		{"5.1, OPERATIONAL", people, "PATTERN_NOT_FOUND", operational, 7 * day},
		{"5.1, OPERATIONAL", people, "DOMAIN_NOT_FOUND", operational, 7 * day},
		{"5.1, OPERATIONAL", people, "STATE_MISMATCH", operational, 7 * day},
		{"5.1, OPERATIONAL", target, "MISSING_NAME", operational, 7 * day},
		{"9.1, five retries", dol, "EIN_MISMATCH", minutes(5, 10, 15, 20, 25), 7 * day},
	}
	onBothStores(t, func(w *world) {
		for _, row := range rows {
			e := w.report(row.table, w.entity(), of(row.code, ""))
			if got := e.WindowEndsAt.Sub(e.CreatedAt); got != row.window {
				w.Errorf("%s %s: a window of %v, want %v", row.row, row.code, got, row.window)
			}
			for i, wait := range row.waits {
				if got := e.NextRetryAt.Sub(w.clock()); got != wait || e.RetryCount != i || e.RetryExhausted || e.EscalationLevel != 0 {
					w.Fatalf("%s %s: wait %d is %v after %d, want %v", row.row, row.code, i+1, got, e.RetryCount, wait)
				}
				e = w.fail(e, row.code)
				if !e.LastRetryAt.Equal(w.clock()) {
					w.Errorf("5.2: last_retry_at is %v", e.LastRetryAt)
				}
			}
			w.parkedBySystem(row.row, e, len(row.waits))
		}
	})
}

// parkedBySystem holds an error to what a spent budget makes of it.
func (w *world) parkedBySystem(row string, e recoup.Error, retries int) {
	w.Helper()
	e = w.show(e)
	now := w.clock()
	if e.State != recoup.Parked || e.Disposition != "PARKED" || e.ParkReason != recoup.MaxRetriesExceeded || e.ParkedBy != recoup.System ||
		!e.ParkedAt.Equal(now) || e.AssignedTo != "" || !e.LastReviewedAt.IsZero() {
		w.Errorf("%s: 4.2 and 5.3 want it parked by the system: %+v", row, e)
	}
	if e.RetryCount != retries || e.MaxRetries != retries || !e.RetryExhausted || !e.NextRetryAt.IsZero() {
		w.Errorf("%s: 5.2 wants a spent budget: %+v", row, e.Retry)
	}
	if e.EscalationLevel != 1 || !e.ReviewDueAt.Equal(now.Add(day)) || e.EscalatedTo == "" {
		w.Errorf("%s: 10.1 wants tier 1 and a review within a day: %+v", row, e.Escalation)
	}
	w.wait(time.Hour)
	if again := w.claimNow(e.Table); len(again) > 0 {
		w.Errorf("%s: 4.1: a parked error was retried", row)
	}
}

// Spec 000, 5.1: a structural failure is retried once, when a person says so.
func TestSpec000StructuralByHand(t *testing.T) {
	onBothStores(t, func(w *world) {
		e := w.report(people, w.entity(), of("SCHEMA_INVALID", ""))
		w.wait(time.Hour)
		if claimed := w.claimNow(people); e.State != recoup.Parked || len(claimed) > 0 {
			w.Fatalf("the system retries it: %s, %d claimed", e.State, len(claimed))
		}
		e = w.act(e, "unpark", recoup.Act{})
		claimed := w.claimNow(people)
		if e.State != recoup.RetryPending || e.MaxRetries != 1 || len(claimed) != 1 {
			w.Fatalf("an unpark buys %d of %d retries", len(claimed), e.MaxRetries)
		}
		var acted recoup.ActResult
		w.post("/v1/retries/"+e.ID.String()+"/fail", recoup.RetryResult{LeaseToken: claimed[0].LeaseToken, Code: "SCHEMA_INVALID"}).ok(&acted)
		if acted.Error.State != recoup.Parked {
			w.Errorf("after the one retry it is %s", acted.Error.State)
		}
	})
}

// Spec 000, 9.2: the third failed domain lookup of an entity parks it.
func TestSpec000AutoPark(t *testing.T) {
	onBothStores(t, func(w *world) {
		e := w.report(target, w.entity(), of("DOMAIN_NOT_FOUND", ""))
		for _, code := range []string{"DNS_TIMEOUT", "DOMAIN_NO_IMPRINT"} {
			if e.State != recoup.RetryPending {
				w.Fatalf("it is %s before the third lookup", e.State)
			}
			w.showsStreak(e, 1+e.RetryCount)
			e = w.fail(e, code)
		}
		if e.State != recoup.Parked || e.ParkReason != recoup.MaxRetriesExceeded || !w.gate(e.EntityID).Blocked {
			w.Errorf("after the third lookup: %s %s", e.State, e.ParkReason)
		}
		w.showsStreak(e, 3)
	})
}

// showsStreak holds an error to the count that decided over it, which is not its own
// count of retries: in itself, where it is shown, and in what explains it.
func (w *world) showsStreak(e recoup.Error, count int) {
	w.Helper()
	shown := w.show(e)
	if e.StreakCount != count || shown.StreakCount != count || shown.StreakFamily != "domain-lookup" {
		w.Errorf("counted %d, shown as %d of %q, want %d", e.StreakCount, shown.StreakCount, shown.StreakFamily, count)
	}
	var x recoup.Explanation
	w.get("/v1/errors/" + e.ID.String() + "/explain").ok(&x)
	if !slices.Contains(x.Decided, recoup.Rule{Field: "streak", Value: fmt.Sprint(count), Why: "failures of domain-lookup that this entity has had"}) {
		w.Errorf("the explanation lacks the count: %+v", x.Decided)
	}
}

// Spec 000, 4.4 and 6.1: the exits of a parked error, and what each does to the
// gate of its entity and of no other.
func TestSpec000ParkExits(t *testing.T) {
	onBothStores(t, func(w *world) {
		other := w.report(dol, w.entity())
		for verb, want := range map[string]struct {
			state  recoup.State
			blocks bool
		}{
			"unpark": {recoup.RetryPending, true}, "resolve": {recoup.Resolved, false},
			"escalate": {recoup.Escalated, true}, "archive": {recoup.Archived, false},
		} {
			e := w.act(w.report(dol, w.entity()), "park", recoup.Act{Reason: "DATA_QUALITY"})
			if e.State != recoup.Parked || e.ParkedBy != "operator" || !w.gate(e.EntityID).Blocked {
				w.Fatalf("parked by hand: %+v", e)
			}
			after := w.show(w.act(e, verb, recoup.Act{}))
			if after.State != want.state || w.gate(e.EntityID).Blocked != want.blocks {
				w.Errorf("%s leads to %s, blocked %v", verb, after.State, w.gate(e.EntityID).Blocked)
			}
			if verb == "escalate" && (after.EscalationLevel != 2 || after.EscalatedTo != "dol-filings-lead" ||
				!after.EscalatedAt.Equal(w.clock()) || after.EscalationReason != "a test") {
				w.Errorf("10.2: escalated to %+v", after.Escalation)
			}
		}
		if !w.gate(other.EntityID).Blocked || w.gate("CO-nobody").Blocked {
			w.Error("6.1: one entity's errors changed another's gate")
		}
	})
}
