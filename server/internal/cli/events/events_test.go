package events_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/events"
)

func send(n *clitest.Node, lines string, args ...string) clitest.Result {
	return n.As(command.Streams{In: strings.NewReader(lines)}, n.Key, append([]string{"events", "send"}, args...)...)
}

func TestLedgerTranscript(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	n.Wait(time.Hour)
	sent := send(n, `{"code": "network_timeout", "service": "crawler", "http_status": 504, "correlation_id": "0198c0de-0000-7000-8000-0000000000aa"}

{"code": "NEVER_SEEN", "service": "crawler", "ts": "2026-02-05T08:30:00Z", "details": {"field": "a", "limit": 3}}
`)
	if sent.Status != command.ExitDone || sent.Out != "2 events stored.\n" || sent.Err != "" {
		t.Errorf("status %d: %s %s", sent.Status, sent.Out, sent.Err)
	}
	n.Wait(time.Minute) // an export ends before now
	clitest.Golden(t, "ledger.golden", n.Transcript(
		[]string{"events", "--service", "crawler"},
		[]string{"events", "--correlation-id", "0198c0de-0000-7000-8000-0000000000aa"},
		[]string{"events", "--limit", "2"},
		[]string{"events", "--from", "45m", "--all"},
		[]string{"events", "--code", "DNS_TIMEOUT"},
		[]string{"top", "--limit", "3"},
		[]string{"export", "events", "--service", "crawler"},
		[]string{"export", "events", "--service", "crawler", "--json"},
		[]string{"export", "events", "--service", "crawler", "--rows"},
		[]string{"export", "events", "--service", "crawler", "--rows", "--format", "ndjson"},
		[]string{"export", "events", "--service", "nobody", "--format", "json"},
	))
	n.Wait(100 * 24 * time.Hour)
	if r := n.Run("top"); r.Status != command.ExitDone || r.Err != "No failure in these hours.\n" {
		t.Errorf("status %d: %s %s", r.Status, r.Out, r.Err)
	}
}

// What is refused is reported with its line, and the rest is stored.
func TestSendRefused(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	good := `{"code":"TIMEOUT","service":"s"}` + "\n"
	for _, row := range []struct{ lines, out, stderr string }{
		{good + "\n" + `{"code":"TIMEOUT"}` + "\n" + good, "2 events stored.\n", "1 refused:\nstandard input:3: "},
		{good + "not json\n", "", "standard input:2: not an event: "},
		{good + `{"code":` + strings.Repeat(" ", events.MaxLine) + "\n", "", "standard input:2: longer than 16384 bytes"},
		{strings.Repeat(good, events.BatchSize) + "[]", "", "500 events stored before it failed:\nrecoup: standard input:501: not an event"},
	} {
		r := send(n, row.lines)
		if r.Status != command.ExitRefused || r.Out != row.out || !strings.Contains(r.Err, row.stderr) {
			t.Errorf("status %d, printed %q, said %q, want %q", r.Status, r.Out, r.Err, row.stderr)
		}
	}
	if r := send(n, ""); r.Status != command.ExitDone || r.Out != "0 events stored.\n" {
		t.Errorf("status %d: %s %s", r.Status, r.Out, r.Err)
	}
	sendMany(t, n)
}

// sendMany sends more than one batch, which all comes out again.
func sendMany(t *testing.T, n *clitest.Node) {
	t.Helper()
	var lines bytes.Buffer
	for i := range events.BatchSize + 5 {
		fmt.Fprintf(&lines, `{"code":"TIMEOUT","service":"many","endpoint":"/e/%d"}`+"\n", i)
	}
	lines.WriteString(`{"code":"TIMEOUT"}`) // no line break at its end, and no service
	r := send(n, lines.String(), "--json")
	var got events.Sent
	clitest.Parse(t, r.Out, &got)
	if r.Status != command.ExitRefused || got.Accepted != events.BatchSize+5 || got.Refused != 1 || got.Lines[0].Line != events.BatchSize+6 {
		t.Errorf("status %d: %+v, %s", r.Status, got, r.Err)
	}
	n.Wait(time.Minute) // an export ends before now
	var page recoup.EventPage
	clitest.Parse(t, n.Must("events", "--service", "many", "--all", "--json"), &page)
	rows, err := csv.NewReader(strings.NewReader(n.Must("export", "events", "--service", "many", "--rows"))).ReadAll()
	if err != nil || len(rows) != events.BatchSize+6 || len(page.Events) != events.BatchSize+5 {
		t.Errorf("%d rows and %d events came out, %v", len(rows), len(page.Events), err)
	}
}

// TestExportIsInert opens an export in a spreadsheet: no cell is a formula.
func TestExportIsInert(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	if r := send(n, `{"code":"TIMEOUT","service":"inert","endpoint":"=cmd|'/c calc'!A1","region":"@SUM(1)"}`+"\n"+`{"code":"TIMEOUT","service":"+1","endpoint":"-2+3"}`); r.Status != command.ExitDone {
		t.Fatalf("status %d: %s", r.Status, r.Err)
	}
	n.Wait(time.Minute)
	for _, args := range [][]string{{"export", "events", "--rows"}, {"export", "events"}} {
		rows, err := csv.NewReader(strings.NewReader(n.Must(args...))).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatalf("%v: %d rows, %v", args, len(rows), err)
		}
		for _, cell := range slices.Concat(rows...) {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("%v: the cell %q is a formula", args, cell)
			}
		}
	}
}

func TestExportRules(t *testing.T) {
	t.Parallel()
	rules, stderr, status := clitest.Run(t, "export", "prometheus-rules")
	if status != command.ExitDone || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	clitest.Golden(t, "prometheus_rules.golden", rules)
	for _, what := range []string{"prometheus-rules", "grafana-dashboard"} {
		out, _, status := clitest.Run(t, "export", what, "--json")
		if status != command.ExitDone || !json.Valid([]byte(out)) {
			t.Errorf("%s: status %d: %s", what, status, out)
		}
	}
	if _, _, status := clitest.Run(t, "export", "grafana-dashboard", "--policy", "missing.yaml"); status != command.ExitRefused {
		t.Errorf("a policy that is not there: status %d", status)
	}
}
