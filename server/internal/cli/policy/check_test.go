package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/proof"
)

// changed writes the default policy with one text replaced by another.
func changed(t *testing.T, from, to string) string {
	t.Helper()
	text := string(policy.DefaultFile())
	if !strings.Contains(text, from) {
		t.Fatalf("the default policy has no %q", from)
	}
	file := filepath.Join(t.TempDir(), "changed.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(text, from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPolicyCheckDefault(t *testing.T) {
	out, stderr, status := clitest.Run(t, "policy", "check")
	if status != command.ExitDone || stderr != "" {
		t.Errorf("ends with %d: %s", status, stderr)
	}
	clitest.Golden(t, "policy_check.golden", out)
}

// A team that is called like the machine owns nothing, and only the proof sees it.
func TestPolicyCheckErrors(t *testing.T) {
	file := changed(t, "team: dol-filings-team", "team: system")
	out, stderr, status := clitest.Run(t, "policy", "check", file)
	if status != command.ExitRefused || stderr != "" {
		t.Errorf("ends with %d: %s", status, stderr)
	}
	for _, want := range []string{
		file + ":23: error: nobody owns what is parked", "        0s    report", "Policy 1.0.0 fails: 1 error, 3 warnings.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("does not say %q:\n%s", want, out)
		}
	}
}

func TestPolicyCheckStrict(t *testing.T) {
	if _, _, status := clitest.Run(t, "policy", "check", "--strict"); status != command.ExitRefused {
		t.Errorf("warnings end with %d under --strict", status)
	}
	t.Setenv("RECOUP_POLICY", changed(t, "after: 7d", "after: 6d"))
	out, _, _ := clitest.Run(t, "policy", "check", "--strict")
	if strings.Contains(out, "never reached") {
		t.Errorf("tier 3 is within reach now:\n%s", out)
	}
}

func TestPolicyCheckJSON(t *testing.T) {
	out, _, status := clitest.Run(t, "policy", "check", "--json")
	var got proof.Report
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if status != command.ExitDone || len(got.Rules) != 11 || got.Count(proof.Warning) != 3 || len(got.Findings[2].Example) != 3 {
		t.Errorf("status %d: %+v", status, got)
	}
}

func TestPolicyCheckMessages(t *testing.T) {
	for _, row := range []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{"a.yaml", "b.yaml"}, command.ExitUsage, `unexpected argument "b.yaml"`},
		{[]string{"a.yaml", "--policy", "b.yaml"}, command.ExitUsage, "the policy is given twice: as a.yaml and by --policy b.yaml"},
		{[]string{"--sharp"}, command.ExitUsage, "unknown flag: --sharp"},
		{[]string{"no-such-file.yaml"}, command.ExitRefused, "no such file or directory (given by the argument)\n"},
		{[]string{changed(t, "hub: dol-filings", "hub: dol")}, command.ExitRefused, "changed.yaml:"},
		{[]string{changed(t, "codes: [MISSING_NAME]", "codes: [MISSING_NAMES]")}, command.ExitRefused, "MISSING_NAMES is not registered"},
		{[]string{"--policy", changed(t, "allowed: [RETRY, ARCHIVE]", "allowed: [RETRY]")}, command.ExitRefused, "changed.yaml is invalid: 2 problems (given by --policy).\n"},
	} {
		_, stderr, status := clitest.Run(t, append([]string{"policy", "check"}, row.args...)...)
		if status != row.status || !strings.Contains(stderr, row.stderr) {
			t.Errorf("%v: status %d, want %d; said %q, want %q", row.args, status, row.status, stderr, row.stderr)
		}
	}
}
