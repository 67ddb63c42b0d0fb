package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/wire"
	"github.com/recoup-dev/recoup/server/test/program"
)

// byTraffic are metrics of the policy that have no series before there is something to
// measure, as docs/operations.md says: of services, of their requests, and rates.
var byTraffic = regexp.MustCompile(`^recoup_((failed_)?request_|error_rate|park_rate|escalation_rate|retry_exhaustion_rate|retry_success_rate|average_ttl_utilization|external_service_errors)`)

// TestRulesNameWhatIsExported scrapes the program itself: each metric of the rules that it
// exports is there, from the first scrape on or once there is something to measure.
func TestRulesNameWhatIsExported(t *testing.T) {
	rules, err := exec.CommandContext(t.Context(), program.Path(t), "export", "prometheus-rules").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\brecoup_[a-z_]+`).FindAllString(string(rules), -1)
	slices.Sort(names)
	names = slices.Compact(names)
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		var missing []string
		s.until("metrics", func() reply { return s.ask(http.MethodGet, "/metrics", "") }, func(r reply) bool {
			missing = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return byTraffic.MatchString(name) || strings.Contains("\n"+r.body, "\n"+name+"{") || strings.Contains("\n"+r.body, "\n"+name+" ")
			})
			return len(missing) == 0
		})
		if len(missing) > 0 || len(names) < 20 {
			t.Errorf("of %d metrics %v are not exported", len(names), missing)
		}
	})
}

// TestWorkersAreSeen has a worker claim, empty-handed: the metrics and the command line
// show it, and before it that nobody claims what is due.
func TestWorkersAreSeen(t *testing.T) {
	onEither(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		if got := s.report("CO-1"); got.status != http.StatusCreated {
			t.Fatalf("%d %s", got.status, got.body)
		}
		scraped := func(series string) func(reply) bool {
			return func(r reply) bool { return strings.Contains(r.body, series) }
		}
		scrape := func() reply { return s.ask(http.MethodGet, "/metrics", "") }
		table := fmt.Sprintf(`{table=%q} `, workTable)
		s.until("nobody claims", scrape, scraped("recoup_workers"+table+"0\n"))
		s.until("it is due, and nobody claims it", scrape, func(r reply) bool {
			return strings.Contains(r.body, "recoup_due_unclaimed_age_seconds"+table) && !strings.Contains(r.body, "recoup_due_unclaimed_age_seconds"+table+"0\n")
		})
		s.done("/v1/retries/claim", fmt.Sprintf(`{"tables": [%q], "worker": "w-17", "limit": 1}`, workTable))
		s.until("a worker claims", scrape, scraped("recoup_workers"+table+"1\n"))
		var list struct{ Queues []wire.WorkerQueue }
		out := s.recoupCommand("workers", "--json")
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if at := slices.IndexFunc(list.Queues, func(q wire.WorkerQueue) bool { return q.Table == workTable }); at < 0 || list.Queues[at].Workers != 1 || list.Queues[at].Due != 0 {
			t.Errorf("recoup workers shows\n%s", out)
		}
	})
}
