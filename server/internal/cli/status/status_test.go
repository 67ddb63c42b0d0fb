package status_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// TestStatus proves that status says what needs a person, in words and by its exit
// status, and nothing of it while nothing does.
func TestStatus(t *testing.T) {
	n := clitest.Start(t, false)
	// Nobody leads this node, which runs no jobs: that alone needs a person.
	if got := n.Run("status"); got.Status != command.ExitRefused || !strings.Contains(got.Out, "! jobs") || strings.Count(got.Out, "!") != 1 {
		t.Fatalf("an empty server: %d\n%s%s", got.Status, got.Out, got.Err)
	}
	n.Must("report", "--table", "outreach.dol_errors", "--entity", "c-1", "--code", "VALIDATION_ERROR", "--message", "no")
	if got := n.Run("status"); strings.Count(got.Out, "!") != 1 || !strings.Contains(got.Out, "1 parked") {
		t.Errorf("one that was just parked: %d\n%s", got.Status, got.Out)
	}
	n.Wait(25 * time.Hour)
	got := n.Run("status", "--json")
	var r struct {
		Needs bool `json:"needs_a_person"`
		Lines []struct {
			What, Detail string
			Needs        bool `json:"needs_a_person"`
		}
	}
	if err := json.Unmarshal([]byte(got.Out), &r); err != nil || got.Status != command.ExitRefused || !r.Needs {
		t.Fatalf("a day later: %d %v\n%s%s", got.Status, err, got.Out, got.Err)
	}
	if l := r.Lines[1]; l.What != "park queue" || !l.Needs || !strings.HasPrefix(l.Detail, "1 overdue for review") {
		t.Errorf("a day later the park queue is %+v", l)
	}
	if got := n.Run("status", "--watch", "soon"); got.Status != command.ExitUsage {
		t.Errorf("--watch soon ends with %d: %s", got.Status, got.Err)
	}
}

// TestStatusForecasts proves that status says of queues whether they will be empty.
func TestStatusForecasts(t *testing.T) {
	n := clitest.Start(t, false)
	has := func(words string) {
		t.Helper()
		if got := n.Run("status"); !strings.Contains(strings.Join(strings.Fields(got.Out), " "), words) {
			t.Errorf("no %q in\n%s%s", words, got.Out, got.Err)
		}
	}
	report := func(i int) {
		n.Must("report", "--table", "outreach.dol_errors", "--entity", fmt.Sprint("c-", i), "--code", "NETWORK_TIMEOUT", "--message", "slow")
	}
	has("queues empty")
	report(0)
	has("queues 1 waiting too soon to tell: outreach.dol_errors with 1")
	for i := range 24 {
		report(i + 1)
	}
	n.Wait(time.Minute)
	has("! queues 1 will not drain outreach.dol_errors: 25 wait,")
}

// TestStatusForecastsDeadlines proves that status says how many deadlines of what is parked are
// missed, once it is known how fast people are.
func TestStatusForecastsDeadlines(t *testing.T) {
	n := clitest.Start(t, false)
	has := func(words string) {
		t.Helper()
		if got := n.Run("status"); !strings.Contains(strings.Join(strings.Fields(got.Out), " "), words) {
			t.Errorf("no %q in\n%s%s", words, got.Out, got.Err)
		}
	}
	has("deadlines none")
	for i := range 3 {
		for k := range 8 {
			n.Must("report", "--table", "outreach.dol_errors", "--entity", fmt.Sprintf("c-%d-%d", i, k), "--code", "VALIDATION_ERROR", "--message", "no")
		}
		if i == 0 {
			has("deadlines too little data outreach.dol_errors: 8 reviews and 8 expiring ahead")
		}
		n.Wait(7 * time.Hour)
	}
	has("park queue 24 parked no review is overdue")
	has("! deadlines will be missed outreach.dol_errors: 24 of 24 reviews not in time, the first due in 3h; 24 of 24 expire before anyone clears them")
}

// TestAudit proves that an act on many errors is one line of the audit, with its count
// and its reason, and that the list can be narrowed.
func TestAudit(t *testing.T) {
	n := clitest.Start(t, false)
	for _, entity := range []string{"c-1", "c-2", "c-3"} {
		n.Must("report", "--table", "outreach.dol_errors", "--entity", entity, "--code", "VALIDATION_ERROR", "--message", "no")
	}
	n.Must(append([]string{"errors", "resolve", "--reason", "fixed at the source", "--yes"}, n.IDs("--table", "outreach.dol_errors")...)...)
	if out := n.Must("audit", "--act", "errors.resolve", "--from", "1h"); !strings.Contains(out, "errors 3") || !strings.Contains(out, "fixed at the source") || strings.Count(out, "\n") != 2 {
		t.Errorf("the audit is\n%s", out)
	}
	if out := n.Must("audit", "--actor", "nobody"); strings.Contains(out, "errors.resolve") {
		t.Errorf("the audit of nobody is\n%s", out)
	}
}

// TestStatusOfPartitions says which adopted tables have partitions that are not governed.
func TestStatusOfPartitions(t *testing.T) {
	n := clitest.Start(t, false)
	if got := n.Run("status"); !strings.Contains(got.Out, "adoptions") || strings.Contains(got.Out, "! adoptions") {
		t.Errorf("no adoptions: %s%s", got.Out, got.Err)
	}
	behind, err := url.Parse(n.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	n.URL = clitest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/adoptions" {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"adoptions": [{"source": "shop.jobs", "partitions": 14, "unseen_partitions": ["shop.a", "shop.b"], "unseen_since": "2026-01-02T03:04:00Z"}]}`)
	}).URL
	const want = "2 of 14 partitions of shop.jobs have no triggers since 2026-01-02 03:04:00: run recoup adopt shop.jobs --apply"
	if got := n.Run("status"); got.Status != command.ExitRefused || !strings.Contains(strings.Join(strings.Fields(got.Out), " "), "! adoptions 1 partly governed "+want) {
		t.Errorf("status %d: %s%s", got.Status, got.Out, got.Err)
	}
}
