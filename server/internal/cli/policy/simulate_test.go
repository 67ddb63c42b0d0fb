package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	policycmd "github.com/recoup-dev/recoup/server/internal/cli/policy"
	"github.com/recoup-dev/recoup/server/internal/simulation"
)

const history = `{"ts":"2026-02-02T09:00:00Z","table":"outreach.dol_errors","entity_id":"CO-1","code":"VALIDATION_ERROR"}
{"ts":"2026-02-02T09:00:01Z","table":"outreach.dol_errors","entity_id":"CO-2","code":"MISSING_NAME","severity":"LOW"}
`

func historyFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "failures.ndjson")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPolicySimulateOutput(t *testing.T) {
	out, stderr, status := clitest.Run(t, "policy", "simulate", "--errors", "500", "--days", "60", "--seed", "7")
	if status != command.ExitDone || stderr != "" {
		t.Errorf("ends with %d: %s", status, stderr)
	}
	clitest.Golden(t, "policy_simulate.golden", out)
}

func TestPolicySimulateJSON(t *testing.T) {
	file := historyFile(t, history)
	out, _, status := clitest.Run(t, "policy", "simulate", "--from", file, "--json")
	if long, _, _ := clitest.Run(t, "policy", "simulate", "--from", file, "-o", "json"); long != out {
		t.Errorf("-o json differs from --json:\n%s", long)
	}
	var got simulation.Result
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != command.ExitDone {
		t.Fatalf("status %d: %v", status, err)
	}
	if got.Total.Reported != 2 || len(got.Total.Open) != 0 || got.Total.Archived["TTL_EXPIRED"] < 1 {
		t.Errorf("the history did not run to its end: %+v", got)
	}
}

func TestPolicySimulateFromStandardInput(t *testing.T) {
	var out, stderr bytes.Buffer
	status := cli.Run(t.Context(), []string{"policy", "simulate", "--from", "-", "--days", "1"},
		command.Streams{In: strings.NewReader(history), Out: &out, Err: &stderr})
	if status != command.ExitDone || !strings.Contains(out.String(), "2 failures from 2026-02-02 to 2026-02-03") {
		t.Errorf("status %d: %s%s", status, out.String(), stderr.String())
	}
}

// Progress is drawn on a terminal, and only there.
func TestPolicySimulateProgress(t *testing.T) {
	var plain, out, stderr bytes.Buffer
	args := []string{"policy", "simulate", "--errors", "3000", "--days", "30"}
	cli.Run(t.Context(), args, command.Streams{In: new(bytes.Buffer), Out: &plain, Err: new(bytes.Buffer)})
	status := cli.Run(t.Context(), args, command.Streams{In: new(bytes.Buffer), Out: &out, Err: &stderr, Terminal: true})
	if status != command.ExitDone || !strings.Contains(stderr.String(), "simulating") || out.String() != plain.String() {
		t.Errorf("status %d, progress %q", status, stderr.String())
	}
}

func TestPolicySimulateMessages(t *testing.T) {
	bad := historyFile(t, "{}\n"+history+"nonsense\n")
	for _, row := range []struct {
		args   string
		status int
		stderr string
	}{
		{"--errors 0", command.ExitUsage, "--errors is 0: expected a number from 1 to 10000000"},
		{"--errors 10000001", command.ExitUsage, "--errors is 10000001"},
		{"--errors many", command.ExitUsage, `invalid argument "many"`},
		{"--days 0", command.ExitUsage, "--days is 0: expected a number from 1 to 3650"},
		{"--days -3", command.ExitUsage, "--days is -3"},
		{"--seed -1", command.ExitUsage, `invalid argument "-1"`},
		{"-o xml", command.ExitUsage, `unknown output format "xml": expected one of text, json, yaml`},
		{"-o text --json", command.ExitUsage, "--json and -o text are given: expected one of the two"},
		{"--from a.ndjson --errors 5", command.ExitUsage, "expected one of the two"},
		{"extra", command.ExitUsage, `unexpected argument "extra"`},
		{"--from no-such-file", command.ExitRefused, "cannot read the history: open no-such-file"},
		{"--from " + bad, command.ExitRefused, bad + ":1: ts is missing"},
		{"--from " + bad, command.ExitRefused, bad + ":4: not JSON at character 2"},
		{"--from -", command.ExitRefused, "standard input has no failures"},
		{"--policy no-such-file", command.ExitRefused, "cannot read the policy"},
	} {
		out, stderr, status := clitest.Run(t, append([]string{"policy", "simulate"}, strings.Fields(row.args)...)...)
		if status != row.status || !strings.Contains(stderr, row.stderr) || out != "" {
			t.Errorf("%s: status %d, want %d; said %q, want %q", row.args, status, row.status, stderr, row.stderr)
		}
	}
}

// Sums over many entities are longer than a duration can hold.
func TestSecondsOfCenturies(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0s", 90: "1m 30s", 86_400: "1d", 36_525 * 86_400: "36525d", 400 * 365 * 86_400: "146000d",
	} {
		if got := policycmd.Seconds(n); got != want {
			t.Errorf("%d seconds are %q, want %q", n, got, want)
		}
	}
}
