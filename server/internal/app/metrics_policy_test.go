package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Prometheus gets the metrics of the policy by table, service and provider, and
// how many alerts there are; the database is asked again after a few seconds.
func TestPolicyMetrics(t *testing.T) {
	t.Parallel()
	clock := &shifted{}
	n := openNode(t, "sqlite:"+filepath.Join(t.TempDir(), "recoup.db"), clock)
	report := func(count int, code string) {
		t.Helper()
		for i := range count {
			out, err := n.engine.Report(t.Context(), engine.Caller{Name: "ada"},
				[]recoup.Report{{Table: "outreach.dol_errors", EntityID: fmt.Sprint(code, i), Code: code}})
			if err != nil || out[0].Err != nil {
				t.Fatal(err, out)
			}
		}
	}
	scrape := func() string {
		t.Helper()
		rec := httptest.NewRecorder()
		n.metrics.handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if rec.Code != http.StatusOK {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		return rec.Body.String()
	}
	report(30, "NETWORK_TIMEOUT")
	report(10, "DUPLICATE_COMPANY") // which are parked
	if err := n.store.AddProcessed(t.Context(), []store.Processed{
		{Minute: store.Minute(n.o.Now()), Table: "outreach.dol_errors", N: 400},
		{Minute: store.Minute(n.o.Now()), Service: "api", N: 50, Failed: 10, Duration: 25 * time.Second},
	}); err != nil {
		t.Fatal(err)
	}
	if err := n.jobs.Tick(t.Context()); err != nil { // which evaluates the rules
		t.Fatal(err)
	}
	const table = `{hub="dol-filings",table="outreach.dol_errors"`
	text := scrape()
	for _, want := range []string{
		"# HELP recoup_error_rate Errors per item processed.",
		"recoup_error_rate" + table + `,window="24h"} 0.1`,
		"recoup_error_rate_samples" + table + `,window="24h"} 400`,
		"recoup_park_rate" + table + `,window="24h"} 0.25`,
		"recoup_parked_errors" + table + `} 10`,
		"recoup_blocking_errors" + table + `} 40`,
		`recoup_unattended_seconds{hub="platform"} 0`,
		`recoup_request_error_rate{service="api",window="5m"} 0.2`,
		`recoup_request_duration_seconds{service="api",window="5m"} 0.5`,
		`recoup_provider_active{group="email_validation",provider="millionverifier"} 1`,
		`recoup_provider_active{group="email_validation",provider="zerobounce"} 0`,
		`recoup_alerts{severity="WARNING",state="FIRING"} 3`, // of errors, of parked ones, of requests
		`recoup_alerts{severity="CRITICAL",state="FIRING"} 0`,
		"recoup_silences 0",
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	report(1, "MISSING_REQUIRED_FIELD")
	clock.by.Add(int64(slice.FiguresLife) * 2)
	if text := scrape(); !strings.Contains(text, "\nrecoup_parked_errors"+table+"} 11\n") {
		t.Error("an old figure is exported")
	}
}
