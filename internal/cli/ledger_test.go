package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"recoup/client"
)

func (n *testNode) send(lines string, args ...string) result {
	return n.as(Streams{In: strings.NewReader(lines)}, n.key, append([]string{"events", "send"}, args...)...)
}

func TestLedgerTranscript(t *testing.T) {
	t.Parallel()
	n := startNode(t, true)
	n.advance(time.Hour)
	sent := n.send(`{"code": "network_timeout", "service": "crawler", "http_status": 504, "correlation_id": "0198c0de-0000-7000-8000-0000000000aa"}

{"code": "NEVER_SEEN", "service": "crawler", "ts": "2026-02-05T08:30:00Z", "details": {"field": "a", "limit": 3}}
`)
	if sent.status != ExitDone || sent.out != "2 events stored.\n" || sent.err != "" {
		t.Errorf("status %d: %s %s", sent.status, sent.out, sent.err)
	}
	n.advance(time.Minute) // an export ends before now
	golden(t, "ledger.golden", n.transcript(
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
	n.advance(100 * 24 * time.Hour)
	if r := n.run("top"); r.status != ExitDone || r.err != "No failure in the last 24 hours.\n" {
		t.Errorf("status %d: %s %s", r.status, r.out, r.err)
	}
}

// What is refused is told with its line, and the rest is stored.
func TestSendRefused(t *testing.T) {
	t.Parallel()
	n := startNode(t, true)
	good := `{"code":"TIMEOUT","service":"s"}` + "\n"
	for _, row := range []struct{ lines, out, stderr string }{
		{good + "\n" + `{"code":"TIMEOUT"}` + "\n" + good, "2 events stored.\n", "1 refused:\nstandard input:3: "},
		{good + "not json\n", "", "standard input:2: not an event: "},
		{good + `{"code":` + strings.Repeat(" ", maxEventLine) + "\n", "", "standard input:2: longer than 16384 bytes"},
		{strings.Repeat(good, eventBatch) + "[]", "", "500 events stored before it failed:\nrecoup: standard input:501: not an event"},
	} {
		r := n.send(row.lines)
		if r.status != ExitRefused || r.out != row.out || !strings.Contains(r.err, row.stderr) {
			t.Errorf("status %d, printed %q, said %q, want %q", r.status, r.out, r.err, row.stderr)
		}
	}
	if r := n.send(""); r.status != ExitDone || r.out != "0 events stored.\n" {
		t.Errorf("status %d: %s %s", r.status, r.out, r.err)
	}
	sendMany(t, n)
}

// sendMany sends more than one batch, which all comes out again.
func sendMany(t *testing.T, n *testNode) {
	t.Helper()
	var lines bytes.Buffer
	for i := range eventBatch + 5 {
		fmt.Fprintf(&lines, `{"code":"TIMEOUT","service":"many","endpoint":"/e/%d"}`+"\n", i)
	}
	lines.WriteString(`{"code":"TIMEOUT"}`) // no line break at its end, and no service
	r := n.send(lines.String(), "--json")
	var got sent
	parse(t, r.out, &got)
	if r.status != ExitRefused || got.Accepted != eventBatch+5 || got.Refused != 1 || got.Lines[0].Line != eventBatch+6 {
		t.Errorf("status %d: %+v, %s", r.status, got, r.err)
	}
	n.advance(time.Minute) // an export ends before now
	var page client.EventPage
	parse(t, n.must("events", "--service", "many", "--all", "--json"), &page)
	rows, err := csv.NewReader(strings.NewReader(n.must("export", "events", "--service", "many", "--rows"))).ReadAll()
	if err != nil || len(rows) != eventBatch+6 || len(page.Events) != eventBatch+5 {
		t.Errorf("%d rows and %d events came out, %v", len(rows), len(page.Events), err)
	}
}

// TestExportIsInert opens an export in a spreadsheet: no cell is a formula.
func TestExportIsInert(t *testing.T) {
	t.Parallel()
	n := startNode(t, false)
	if r := n.send(`{"code":"TIMEOUT","service":"inert","endpoint":"=cmd|'/c calc'!A1","region":"@SUM(1)"}` + "\n" + `{"code":"TIMEOUT","service":"+1","endpoint":"-2+3"}`); r.status != ExitDone {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	n.advance(time.Minute)
	for _, args := range [][]string{{"export", "events", "--rows"}, {"export", "events"}} {
		rows, err := csv.NewReader(strings.NewReader(n.must(args...))).ReadAll()
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
