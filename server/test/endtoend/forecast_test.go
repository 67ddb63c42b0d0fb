package endtoend

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/internal/wire"
	"github.com/recoup-dev/recoup/server/test/program"
)

// A node that has seen a month of failures, and people who set some of them right, says by API
// and by recoup status which deadlines of what is parked are missed. What is overdue is what
// the park queue itself shows, error by error.
func TestForecastOfAMonth(t *testing.T) {
	tier.Nightly(t, "a demo of a month takes minutes; packages forecast and api test the same figures")
	t.Parallel()
	address, said := demo(t, nil, "--month=true")
	if address == "" {
		t.Fatalf("the demo does not run: %s", said)
	}
	var f wire.Forecast
	readJSON(t, address, "/v1/forecast", &f)
	known, overdue := 0, map[string]int64{}
	for _, p := range f.Park {
		overdue[p.Table] = p.Overdue
		if p.Waiting > 0 && p.NewPerDay > 0 && p.Expiries.Verdict != "" {
			known++
		}
	}
	if known == 0 || f.Days != 7 || f.Partial {
		t.Errorf("of a month nothing is known: %+v", f)
	}
	for table, n := range parkedLate(t, address, f.At) {
		if overdue[table] != n {
			t.Errorf("in %s %d reviews are overdue, and %d in the forecast", table, n, overdue[table])
		}
		delete(overdue, table)
	}
	for table, n := range overdue {
		if n > 0 {
			t.Errorf("in %s nothing is overdue, and %d are in the forecast", table, n)
		}
	}
	showsDeadlines(t, address)
}

func readJSON(t *testing.T, address, path string, into any) {
	t.Helper()
	status, body := get(t, address, path, "")
	if err := json.Unmarshal([]byte(body), into); err != nil || status != 200 {
		t.Fatalf("%s: %d %s", path, status, body)
	}
}

// parkedLate counts by table what the park queue shows as overdue.
func parkedLate(t *testing.T, address string, now time.Time) map[string]int64 {
	t.Helper()
	late := map[string]int64{}
	for cursor := ""; ; {
		var page struct {
			Errors []recoup.Error
			Next   string
		}
		readJSON(t, address, "/v1/errors/parked?limit=1000&cursor="+cursor, &page)
		for i := range page.Errors {
			if due := page.Errors[i].ReviewDueAt; !due.IsZero() && due.Before(now) {
				late[page.Errors[i].Table]++
			}
		}
		if cursor = page.Next; cursor == "" {
			return late
		}
	}
}

// showsDeadlines proves that recoup status has the lines.
func showsDeadlines(t *testing.T, address string) {
	t.Helper()
	cmd := exec.Command(program.Path(t), "status", "--server", "http://"+address)
	out, _ := cmd.Output() // its status says whether something needs a person
	for _, line := range []string{"park queue", "deadlines", "queues", "operations"} {
		if !strings.Contains(string(out), line) {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
}
