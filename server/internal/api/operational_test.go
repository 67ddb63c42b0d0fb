package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

// Operational failures wait 5, 10 and 15 minutes (spec 000, 5.1), whatever their
// code: no class of ours makes them wait longer.
func TestOperationalWaits(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) *world{"sqlite": func(t *testing.T) *world { return newWorld(t) }, "postgres": newPostgresWorld} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			for i, code := range []string{
				"EIN_MISMATCH", "MISSING_NAME", "PATTERN_NOT_FOUND", "STATE_MISMATCH", "STATE_MISSING", "STATE_AMBIGUOUS",
				"NO_LINKEDIN_COMPANY", "URL_NOT_FOUND", "DATA_UNAVAILABLE", "DOMAIN_NOT_FOUND", "DOMAIN_NO_IMPRINT",
			} {
				waits(w, fmt.Sprint("CO-", i), code)
			}
		})
	}
}

// waits lets one error fail until its budget is spent, or its third lookup of a
// domain parks it, and holds every wait to the schedule.
func waits(w *world, entity, code string) {
	w.Helper()
	e := w.report(dol, entity, func(r *recoup.Report) { r.Code = code })
	for n := 1; e.State == recoup.RetryPending; n++ {
		if wait := e.NextRetryAt.Sub(w.clock()); wait != time.Duration(n)*5*time.Minute {
			w.Errorf("%s waits %v before retry %d", code, wait, n)
		}
		w.wait(e.NextRetryAt.Sub(w.clock()))
		var claimed recoup.RetryClaimed
		w.post("/v1/retries/claim", recoup.RetryClaim{Tables: []string{dol}, Worker: "w", Limit: 1}).ok(&claimed)
		if len(claimed.Errors) != 1 || claimed.Errors[0].ID != e.ID {
			w.Fatalf("%s: claimed %+v", code, claimed.Errors)
		}
		var out recoup.ActResult
		w.do("worker", http.MethodPost, "/v1/retries/"+e.ID.String()+"/fail", recoup.RetryResult{LeaseToken: claimed.Errors[0].LeaseToken, Code: code}).ok(&out)
		e = out.Error
	}
	if e.State != recoup.Parked || e.ParkReason != "MAX_RETRIES_EXCEEDED" {
		w.Errorf("%s ends as %s %s", code, e.State, e.ParkReason)
	}
}

// The third failed lookup of a domain parks (spec 000, 9.2) before the retries are
// spent; the history has the count that decided.
func TestAutoParkRecordsItsCount(t *testing.T) {
	t.Parallel()
	const table = "outreach.company_target_errors"
	w := newWorld(t)
	e := w.report(table, "CO-1", func(r *recoup.Report) { r.Code = "DOMAIN_NOT_FOUND" })
	for e.State == recoup.RetryPending {
		claimed := w.claim(table)
		var out recoup.ActResult
		w.do("worker", http.MethodPost, "/v1/retries/"+e.ID.String()+"/fail", recoup.RetryResult{LeaseToken: claimed[0].LeaseToken, Code: "DOMAIN_NOT_FOUND"}).ok(&out)
		e = out.Error
	}
	var history recoup.ErrorHistory
	w.get("/v1/errors/" + e.ID.String() + "/history").ok(&history)
	counted := func(h recoup.Transition) bool {
		return strings.Contains(h.Reason, "failure 3 of 3 of domain-lookup for this entity")
	}
	if e.ParkReason != "MAX_RETRIES_EXCEEDED" || e.RetryCount != 2 || !slices.ContainsFunc(history.Transitions, counted) {
		t.Errorf("parked with %s after %d of %d retries: %+v", e.ParkReason, e.RetryCount, e.MaxRetries, history.Transitions)
	}
}
