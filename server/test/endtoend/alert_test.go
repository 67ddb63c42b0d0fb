package endtoend

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// firing is a rule of specs 000 and 001 that fires, and who hears of it how.
type firing struct {
	severity, action, to string
	page                 bool
}

// TestAlertsFire lets a node see what the specifications' rules are about: real
// reports, acts, counts and events. It evaluates them by its own clock, and notifies
// the people they name (spec 000, 9.1 and 11.2; spec 001, alert thresholds).
func TestAlertsFire(t *testing.T) {
	want := map[string]firing{
		"error-rate dol-filings":                {"WARNING", "NOTIFY_HUB_TEAM", "dol-filings-team", false},
		"error-rate-high dol-filings":           {"HIGH", "PAGE_ON_CALL", "dol-filings-lead", true},
		"park-rate dol-filings":                 {"WARNING", "REVIEW_PARK_QUEUE", "dol-filings-team", false},
		"dol-park-threshold dol-filings":        {"WARNING", "NOTIFY_HUB_TEAM", "dol-filings-team", false},
		"parked-errors ":                        {"HIGH", "ESCALATE_TO_PLATFORM", "platform-team", false},
		"blocking-errors ":                      {"CRITICAL", "PAGE_PLATFORM_ON_CALL", "platform-team", true},
		"escalation-rate dol-filings":           {"WARNING", "NOTIFY_HUB_TEAM", "dol-filings-team", false},
		"request-error-rate api":                {"WARNING", "SLACK_ALERT", "platform-team", false},
		"database-errors ":                      {"HIGH", "PAGE_ON_CALL", "platform-lead", true},
		"external-service-down millionverifier": {"HIGH", "SWITCH_PROVIDER", "platform-team", false},
	}
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		c, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
		if err != nil {
			t.Fatal(err)
		}
		provoke(t, c)
		deadline, tick := time.After(2*time.Minute), time.NewTicker(250*time.Millisecond)
		defer tick.Stop()
		for {
			got := heard(t, c)
			missing := ""
			for rule, f := range want {
				if got[rule] != f {
					missing += fmt.Sprintf("%s: %+v, want %+v\n", rule, got[rule], f)
				}
			}
			if missing == "" {
				break
			}
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("after two minutes\n%s", missing)
			}
		}
		if active, err := c.Providers.Active(t.Context(), "email_validation"); err != nil || active != "zerobounce" {
			t.Errorf("validation is done by %s (%v)", active, err)
		}
	})
}

// provoke does everything that the rules are about, beyond their thresholds.
func provoke(t *testing.T, c *client.Client) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	report := func(n int, table, code string) (ids []recoup.ID) {
		for start := 0; start < n; start += 1000 {
			var list []recoup.Report
			for i := start; i < min(n, start+1000); i++ {
				list = append(list, recoup.Report{Table: table, EntityID: fmt.Sprintf("%s-%d", code, i), Code: code})
			}
			items, err := c.ReportBatch(t.Context(), list)
			must(err)
			for _, item := range items {
				ids = append(ids, item.Result.Error.ID)
			}
		}
		return ids
	}
	must(c.CountProcessed(t.Context(), []recoup.Processed{
		{Table: "outreach.dol_errors", Count: 100}, {Service: "api", Count: 100, Failed: 6},
	}))
	for _, id := range report(51, "outreach.dol_errors", "DUPLICATE_COMPANY")[:6] {
		_, err := c.Errors.Escalate(t.Context(), id, recoup.Act{Reason: "nobody knows"})
		must(err)
	}
	report(1001, "people.people_errors", "MISSING_NAME")
	var events []recoup.Event
	for range 11 {
		events = append(events, recoup.Event{Code: "DATABASE_CONNECTION_ERROR", Service: "api"})
	}
	for range 21 {
		events = append(events, recoup.Event{Code: "VALIDATION_SERVICE_ERROR", Service: "api", ExternalService: "millionverifier"})
	}
	_, err := c.SendEvents(t.Context(), events)
	must(err)
}

// heard returns who was notified of which firing alert.
func heard(t *testing.T, c *client.Client) map[string]firing {
	t.Helper()
	fires := map[recoup.ID]bool{}
	for a, err := range admin.New(c).Alerts.All(t.Context(), wire.AlertFilter{State: "FIRING"}) {
		if err != nil {
			t.Fatal(err)
		}
		fires[a.ID] = true
	}
	got := map[string]firing{}
	for n, err := range admin.New(c).Notifications.All(t.Context(), wire.NoticeFilter{Kind: wire.NoticeAlert}) {
		if err != nil {
			t.Fatal(err)
		}
		var body alert.Body
		if err := json.Unmarshal([]byte(n.Body), &body); err != nil {
			t.Fatal(err)
		}
		for _, line := range body.Alerts {
			if fires[line.ID] {
				got[line.Rule+" "+line.Scope] = firing{string(line.Severity), string(line.Action), n.To, body.Page}
			}
		}
	}
	return got
}
