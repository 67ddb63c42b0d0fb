package alerts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/alerts"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const alertExample = "../../../../examples/alerts/alerts.yaml"

func TestAlertTests(t *testing.T) {
	t.Parallel()
	out, stderr, status := clitest.Run(t, "alerts", "test", alertExample)
	if status != command.ExitDone || out != "7 tests passed.\n" || stderr != "" {
		t.Errorf("the example ends with %d: %s %s", status, out, stderr)
	}
	out, stderr, status = clitest.Run(t, "alerts", "test", "testdata/alerts/failing.yaml", alertExample)
	if status != command.ExitRefused || stderr != "" {
		t.Errorf("a failing test ends with %d: %s", status, stderr)
	}
	clitest.Golden(t, "alerts_test.golden", out)

	out, _, status = clitest.Run(t, "alerts", "test", "testdata/alerts/failing.yaml", "--json")
	var report alerts.TrialReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != command.ExitRefused {
		t.Fatalf("status %d, %v: %s", status, err, out)
	}
	if report.Passed != 1 || report.Failed != 1 || len(report.Tests) != 2 || len(report.Tests[0].Failures) != 3 || !report.Tests[1].Passed {
		t.Errorf("the report is %+v", report)
	}
}

// What is wrong with a file of tests is said before anything is run.
func TestBadAlertTests(t *testing.T) {
	t.Parallel()
	const expect = "    expect: [{at: 1m, alerts: []}]\n"
	for name, row := range map[string]struct{ text, said string }{
		"no YAML":        {"tests: [", "alerts.yaml: [1:8] "},
		"unknown field":  {"tests:\n  - name: x\n    expected: []\n", "unknown field"},
		"nothing":        {"step: 1m\n", "it has no tests"},
		"no metric":      {"tests:\n  - given: [{metric: sadness, values: 1}]\n" + expect, `test 1: the policy has no metric "sadness"`},
		"bad values":     {"tests:\n  - given: [{metric: parked_errors, values: a lot}]\n" + expect, `"a" is not a value: expected such as`},
		"no values":      {"tests:\n  - given: [{metric: parked_errors}]\n" + expect, "values of parked_errors: there are none"},
		"too many":       {"tests:\n  - given: [{metric: parked_errors, values: 1x99999}]\n" + expect, "more than 10080"},
		"nobody looks":   {"tests:\n  - given: [{metric: parked_errors, scope: dol-filings, values: 1}]\n" + expect, "no rule looks at parked_errors of the scope dol-filings"},
		"between steps":  {"tests:\n  - expect: [{at: 90s, alerts: []}]\n", "expected a multiple of 1m"},
		"twice":          {"tests:\n  - expect: [{at: 1m, alerts: []}, {at: 60s, alerts: []}]\n", "expected twice"},
		"no expectation": {"tests:\n  - name: x\n", "x: nothing is expected"},
		"bad time":       {"tests:\n  - expect: [{at: soon}]\n", `at: "soon" is not a duration`},
		"bad rule":       {"rules: [{name: r, when: sadness > 1, per: hub, severity: HIGH, action: PAGE_ON_CALL}]\ntests:\n  - name: x\n" + expect, "the rules are invalid: "},
		"no policy":      {"policy: missing.yaml\ntests:\n  - name: x\n" + expect, "cannot read the policy"},
		"bad step":       {"step: 10ms\ntests:\n  - name: x\n" + expect, "step: expected a second or more"},
	} {
		file := filepath.Join(t.TempDir(), "alerts.yaml")
		if err := os.WriteFile(file, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, stderr, status := clitest.Run(t, "alerts", "test", file)
		if status != command.ExitRefused || out != "" || !strings.Contains(stderr, row.said) {
			t.Errorf("%s: status %d, said %q, want %q", name, status, stderr, row.said)
		}
	}
	if _, stderr, status := clitest.Run(t, "alerts", "test"); status != command.ExitUsage || !strings.Contains(stderr, "FILE is missing") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// A file may name the policy that it is for.
func TestAlertTestsOfAPolicy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := strings.Replace(string(policy.DefaultFile()), "parked_errors > 1000", "parked_errors > 7", 1)
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("policy.yaml", text)
	test := "tests:\n  - given: [{metric: parked_errors, values: 8}]\n    expect: [{at: 0, alerts: [{rule: parked-errors}]}]\n"
	for name, args := range map[string][]string{
		"named in the file": {write("named.yaml", "policy: policy.yaml\n"+test)},
		"by the flag":       {write("flag.yaml", test), "--policy", filepath.Join(folder, "policy.yaml")},
	} {
		if out, stderr, status := clitest.Run(t, append([]string{"alerts", "test"}, args...)...); status != command.ExitDone {
			t.Errorf("%s: status %d: %s %s", name, status, out, stderr)
		}
	}
	if _, _, status := clitest.Run(t, "alerts", "test", filepath.Join(folder, "flag.yaml")); status != command.ExitRefused {
		t.Error("the built-in policy passes too")
	}
}

// What a person sees of alerts and providers.
func TestAlertTranscript(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	made := n.Must("alerts", "silence", "park-rate", "--scope", "dol-filings", "--for", "2h", "--reason", "being repaired", "--json")
	var silence wire.Silence
	clitest.Parse(t, made, &silence)
	clitest.Golden(t, "alerts.golden", n.Transcript(
		[]string{"alerts", "list"},
		[]string{"alerts", "list", "--state", "loud"},
		[]string{"alerts", "show", "0198c0de-0000-7000-8000-000000000001"},
		[]string{"alerts", "silence", "--all", "--until", "2026-02-06", "--reason", "moving house"},
		[]string{"alerts", "silence", "park-rat", "--for", "1h", "--reason", "x"},
		[]string{"alerts", "silence", "park-rate", "--scope", "dol", "--for", "1h", "--reason", "x"},
		[]string{"alerts", "silence", "park-rate", "--for", "1h"},
		[]string{"alerts", "silence", "park-rate", "--reason", "x"},
		[]string{"alerts", "silence", "--for", "1h", "--reason", "x"},
		[]string{"alerts", "silences"},
		[]string{"alerts", "unsilence", silence.ID.String()},
		[]string{"alerts", "silences", "--past"},
		[]string{"providers", "list"},
		[]string{"providers", "switch", "email_validation", "--to", "zerobounce", "--reason", "too slow"},
		[]string{"providers", "switch", "email_validation", "--to", "neverbounce", "--reason", "x"},
		[]string{"providers", "list"},
	))
	for _, args := range [][]string{
		{"alerts", "list"}, {"alerts", "list", "--past", "--all"}, {"alerts", "silences"}, {"providers", "list"},
		{"providers", "switch", "email_validation", "--to", "millionverifier", "--reason", "x"},
	} {
		if r := n.Run(append(args, "--json")...); !json.Valid([]byte(r.Out)) || r.Status != command.ExitDone || r.Err != "" {
			t.Errorf("%v: status %d, printed %s, said %s", args, r.Status, r.Out, r.Err)
		}
	}
}

// An alert that fires, as the command line shows it.
func TestAlertsShown(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	s := &command.Session{Streams: command.Streams{Now: func() time.Time { return at }}}
	for _, row := range []struct {
		alert wire.Alert
		want  string
	}{
		{wire.Alert{Value: .0625, Condition: "error_rate > 5% over 24h", PendingAt: at, NotifiedAt: at, Notified: 1}, "6.2% error_rate > 5% over 24h 0s 0s ago"},
		{wire.Alert{Value: 1001, Condition: "parked_errors > 1000 for 1h", PendingAt: at}, "1001 parked_errors > 1000 for 1h 0s not yet"},
		{wire.Alert{Value: 200, Condition: "blocking_errors > 100", PendingAt: at, Silenced: true}, "200 blocking_errors > 100 0s silenced"},
	} {
		cells := alerts.Row(s, &row.alert)
		table := command.NewTable(s.Streams, make([]command.Column, len(cells))...)
		table.Add(cells...)
		if got := strings.Join(strings.Fields(table.String()), " "); !strings.HasSuffix(got, " "+row.want) {
			t.Errorf("shown is %q, want %q", got, row.want)
		}
	}
}
