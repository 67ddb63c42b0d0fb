package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const day = 24 * time.Hour

// The tables of spec 000, 3.
const (
	target    = "outreach.company_target_errors"
	discovery = "company.url_discovery_failures"
	errorLog  = "public.shq_error_log"
	masterLog = "public.shq_master_error_log"
	orphans   = "public.shq_orphan_errors"
)

// onBothStores runs a test in a world on each store.
func onBothStores(t *testing.T, test func(*world)) {
	t.Helper()
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) *world{
		"sqlite":   func(t *testing.T) *world { return newWorld(t) },
		"postgres": newPostgresWorld,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(begin(t))
		})
	}
}

// of makes a report one of that code and severity.
func of(code string, severity recoup.Severity) func(*recoup.Report) {
	return func(r *recoup.Report) { r.Code, r.Severity = code, severity }
}

// show reads an error anew.
func (w *world) show(e recoup.Error) recoup.Error {
	w.Helper()
	var shown recoup.Error
	w.get("/v1/errors/" + e.ID.String()).ok(&shown)
	return shown
}

// act does something to an error as an operator does, and returns what became of it.
func (w *world) act(e recoup.Error, verb string, a recoup.Act) recoup.Error {
	w.Helper()
	if a.Reason == "" {
		a.Reason = "a test"
	}
	var acted recoup.ActResult
	w.do("operator", http.MethodPost, "/v1/errors/"+e.ID.String()+"/"+verb, a).ok(&acted)
	return acted.Error
}

// run runs a job of the clock.
func (w *world) run(job string) {
	w.Helper()
	w.post("/v1/jobs/"+job+"/run", wire.JobRunRequest{Reason: "a test"}).ok()
}

// gate asks whether an entity may go on.
func (w *world) gate(entity string) recoup.PromotionStatus {
	w.Helper()
	var g recoup.PromotionStatus
	w.get("/v1/promotion/" + entity).ok(&g)
	return g
}

// fate is what the policy makes of a first report.
type fate struct {
	table       string
	state       recoup.State
	disposition recoup.Disposition
	ttl         time.Duration
	blocks      bool
	reason      recoup.ParkReason
	max         int
	wait        time.Duration // until the first retry
	owner       string
}

func (w *world) fate(e recoup.Error) fate {
	w.Helper()
	got := fate{e.Table, e.State, e.Disposition, 0, e.Blocking, e.ParkReason, e.MaxRetries, 0, e.Owner()}
	if !e.ExpiresAt.IsZero() {
		got.ttl = e.ExpiresAt.Sub(e.CreatedAt)
	}
	if !e.NextRetryAt.IsZero() {
		got.wait = e.NextRetryAt.Sub(w.clock())
	}
	if blocked := w.gate(e.EntityID).Blocked; blocked != e.Blocking {
		w.Errorf("%s of %s says blocking=%v and its gate says %v", e.Code, e.Table, e.Blocking, blocked)
	}
	return got
}

// Spec 000, 1 to 3, 4.3, 6.2, 8 and 9: what becomes of a failure, by its table,
// code and severity, as whoever reports it sees it.
func TestSpec000FirstReports(t *testing.T) {
	const pending, parked, active = recoup.RetryPending, recoup.Parked, recoup.Active
	const dolTeam, targetTeam, peopleTeam, platform = "dol-filings-team", "company-target-team", "people-intelligence-team", "platform-team"
	rows := []struct {
		row, table, code string
		severity         recoup.Severity
		want             fate
	}{
		{"3, dol_errors: MEDIUM, RETRY, blocks; 9.1: five retries", dol, "EIN_MISMATCH", "", fate{dol, pending, "RETRY", 30 * day, true, "", 5, 5 * time.Minute, "system"}},
		{"3, company_target_errors: MEDIUM, RETRY, blocks", target, "NETWORK_TIMEOUT", "", fate{target, pending, "RETRY", 30 * day, true, "", 5, 2 * time.Second, "system"}},
		{"3, people_errors: MEDIUM, RETRY, blocks; 5.1: OPERATIONAL", people, "PATTERN_NOT_FOUND", "", fate{people, pending, "RETRY", 30 * day, true, "", 3, 5 * time.Minute, "system"}},
		{"3, url_discovery_failures: LONG, ARCHIVE, does not block", discovery, "NETWORK_TIMEOUT", "", fate{discovery, active, "ARCHIVE", 90 * day, false, "", 5, 0, "system"}},
		{"3, shq_error_log: LONG, IGNORE, does not block", errorLog, "NETWORK_TIMEOUT", "", fate{errorLog, active, "IGNORE", 90 * day, false, "", 5, 0, "system"}},
		{"3, shq_master_error_log: INFINITE, IGNORE", masterLog, "NETWORK_TIMEOUT", "", fate{masterLog, active, "IGNORE", 0, false, "", 5, 0, "system"}},
		{"3, shq_orphan_errors: MEDIUM, PARK, does not block", orphans, "NETWORK_TIMEOUT", "", fate{orphans, parked, "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, platform}},
		{"3, dead table", "outreach.bit_errors", "NETWORK_TIMEOUT", "", fate{orphans, parked, "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, platform}},
		{"3, dead table", "outreach.blog_errors", "NETWORK_TIMEOUT", "", fate{orphans, parked, "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, platform}},
		{"3, dead table", "outreach.people_errors", "NETWORK_TIMEOUT", "", fate{orphans, parked, "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, platform}},
		{"3, dead table", "outreach.outreach_errors", "NETWORK_TIMEOUT", "", fate{orphans, parked, "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, platform}},
		{"3, dead table", "cl.cl_errors_archive", "NETWORK_TIMEOUT", "", fate{orphans, parked, "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, platform}},
		{"3, dead table", "company.pipeline_errors", "NETWORK_TIMEOUT", "", fate{orphans, parked, "PARKED", 30 * day, false, "ESCALATION_REQUIRED", 5, 0, platform}},

		{"4.3, NON_RETRYABLE_ERROR", dol, "VALIDATION_ERROR", "", fate{dol, parked, "PARKED", 30 * day, true, "NON_RETRYABLE_ERROR", 1, 0, dolTeam}},
		{"4.3, ESCALATION_REQUIRED", target, "DUPLICATE_COMPANY", "", fate{target, parked, "PARKED", 30 * day, true, "ESCALATION_REQUIRED", 1, 0, targetTeam}},
		{"4.3, EXTERNAL_DEPENDENCY", target, "EXTERNAL_API_CHANGED", "", fate{target, parked, "PARKED", 30 * day, true, "EXTERNAL_DEPENDENCY", 1, 0, targetTeam}},
		{"4.3, DATA_QUALITY", target, "MISSING_REQUIRED_FIELD", "", fate{target, parked, "PARKED", 30 * day, true, "DATA_QUALITY", 1, 0, targetTeam}},
		{"9.3, park on missing name", people, "MISSING_NAME", "", fate{people, parked, "PARKED", 30 * day, true, "DATA_QUALITY", 3, 0, peopleTeam}},
		{"5.1, STRUCTURAL: by hand only", people, "SCHEMA_INVALID", "", fate{people, parked, "PARKED", 30 * day, true, "NON_RETRYABLE_ERROR", 1, 0, peopleTeam}},

		{"8, CRITICAL: parked at once, TTL of the table", dol, "NETWORK_TIMEOUT", recoup.Critical, fate{dol, parked, "PARKED", 30 * day, true, "ESCALATION_REQUIRED", 5, 0, dolTeam}},
		{"8, HIGH: retried, SHORT", dol, "NETWORK_TIMEOUT", recoup.High, fate{dol, pending, "RETRY", 7 * day, true, "", 5, 2 * time.Second, "system"}},
		{"8, MEDIUM: retried, MEDIUM", dol, "NETWORK_TIMEOUT", recoup.Medium, fate{dol, pending, "RETRY", 30 * day, true, "", 5, 2 * time.Second, "system"}},
		{"8, MEDIUM: as the table says", discovery, "NETWORK_TIMEOUT", recoup.Medium, fate{discovery, active, "ARCHIVE", 90 * day, false, "", 5, 0, "system"}},
		{"8, LOW: ignored, LONG, does not block", errorLog, "NETWORK_TIMEOUT", recoup.Low, fate{errorLog, active, "IGNORE", 90 * day, false, "", 5, 0, "system"}},
		{"8, LOW where IGNORE is not allowed", dol, "NETWORK_TIMEOUT", recoup.Low, fate{dol, active, "ARCHIVE", 90 * day, false, "", 5, 0, "system"}},
		{"9.2, TTL of Company Target", target, "NETWORK_TIMEOUT", recoup.High, fate{target, pending, "RETRY", 30 * day, true, "", 5, 2 * time.Second, "system"}},
		{"9.3, TTL of People Intelligence", people, "NETWORK_TIMEOUT", recoup.High, fate{people, pending, "RETRY", 30 * day, true, "", 5, 2 * time.Second, "system"}},
	}
	onBothStores(t, func(w *world) {
		for _, row := range rows {
			e := w.report(row.table, w.entity(), of(row.code, row.severity))
			if got := w.fate(e); got != row.want {
				w.Errorf("%s\n got %+v\nwant %+v", row.row, got, row.want)
			}
			if e.PolicyVersion != "1.0.0" {
				w.Errorf("document control: %s was admitted by policy %q", e.Code, e.PolicyVersion)
			}
		}
	})
}

// Spec 000, 3: a table's allowed dispositions are the exits that it has.
func TestSpec000AllowedDispositions(t *testing.T) {
	onBothStores(t, func(w *world) {
		for table, allowed := range map[string]map[string]bool{
			dol:       {"park": true, "archive": true},
			discovery: {"park": false, "archive": true},
			errorLog:  {"park": false, "archive": true},
			masterLog: {"park": false, "archive": false, "resolve": false},
			orphans:   {"unpark": false, "archive": true},
		} {
			for verb, may := range allowed {
				e := w.report(table, w.entity())
				a := w.do("operator", http.MethodPost, "/v1/errors/"+e.ID.String()+"/"+verb, recoup.Act{Reason: "a test"})
				if may != (a.Code == http.StatusOK) {
					w.Errorf("%s of %s: %d %s", verb, table, a.Code, a.Body)
				}
				if after := w.show(e); !may && (after.State != e.State || !after.UpdatedAt.Equal(e.UpdatedAt)) {
					w.Errorf("a refused %s of %s changed it: %s", verb, table, after.State)
				}
			}
		}
	})
}
