package tier_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// script runs bash in the root of the tree and returns what it prints and its status.
func script(t *testing.T, text string, env ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), env...)
	printed, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(printed), cmd.ProcessState.ExitCode()
}

// A run of CI ends with the time and the budget of each step, and fails above its limit.
func TestStepsHaveBudgets(t *testing.T) {
	t.Parallel()
	const run = `source scripts/steps
		inner() { step 'part' 5 true; }
		step 'first' 10 true
		step 'second' 10 false || true
		step 'outer' 10 inner
		step 'slow' 10 eval 'SECONDS=$((SECONDS + 30))'
		skipped 'browser' 'the change does not touch the area browser'
		steps_failed=$FAILED SECONDS=$SPENT
		finish 20`
	for _, c := range []struct {
		spent, failed string
		status        int
		want          []string
	}{
		{"1200", "0", 0, []string{`first +ok +0 s +budget +10 s`, `second +FAILED`, `\n +part +ok +0 s +budget +5 s`, `browser +skipped +the change`, `over budget: slow: 30 s, budget 10 s`, `all steps succeeded`}},
		{"1201", "0", 1, []string{`the run took 20 min 01 s; the limit is 20 minutes`}},
		{"60", "1", 1, []string{`total 1 min 00 s`, `FAILED\n$`}},
	} {
		out, status := script(t, run, "RECOUP_STEPS=", "SPENT="+c.spent, "FAILED="+c.failed)
		if status != c.status {
			t.Errorf("%s s, %s failed: status %d, expected %d", c.spent, c.failed, status, c.status)
		}
		for _, want := range c.want {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%s s, %s failed: no %q in:\n%s", c.spent, c.failed, want, out)
			}
		}
	}
}

// Every planted fault still applies to the tree.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	out, status := script(t, "scripts/mutants", "CHECK=1", "ONLY=", "TIER=change", "MUTANTS_CACHE="+t.TempDir())
	found := regexp.MustCompile(`(\d+) faults: .* 0 errors`).FindStringSubmatch(out)
	if status != 0 || found == nil {
		t.Fatalf("status %d:\n%s", status, out)
	}
	if n, err := strconv.Atoi(found[1]); err != nil || n < 60 {
		t.Errorf("the table has %s faults, expected 60 or more", found[1])
	}
}

// make mutants tells faults that are noticed from faults that are not, and from rows that
// no longer apply.
func TestMutantsAreJudged(t *testing.T) {
	t.Parallel()
	const file, tests = "internal/check/check.go", "internal/test/tier:^TestQuarter$"
	const quarter, packages = "internal/test/tier/tier.go\tquarter %= 4\t", "\t" + tests + "\tchange\t"
	table := filepath.Join(t.TempDir(), "table.tsv")
	rows := []string{
		quarter + "quarter %= 3" + packages + "a fault that is noticed",
		quarter + "quarter = quarter % 4" + packages + "no fault at all",
		quarter + "quarter %= 4 // the same" + strings.Replace(packages, "change", "nightly", 1) + "left to nightly",
		quarter + "quarter %= four" + packages + "does not compile",
		file + "\tno such text\tnew" + packages + "does not apply",
	}
	if err := os.WriteFile(table, []byte(strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := "MUTANTS_CACHE=" + t.TempDir()
	out, status := script(t, "scripts/mutants", "TABLE="+table, "ONLY=", "TIER=change", cache)
	for _, want := range []string{
		`killed +\d+ s  1 .*a fault that is noticed  \(TestQuarter\)`,
		`5 faults: 1 noticed, 1 survived, 1 listed for nightly, 2 errors`,
		`survived: 2 .*no fault at all`, `nightly: 3 .*left to nightly`,
		`error: 4 .*does not compile`, `error: 5 .*old text not found`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if status != 1 {
		t.Errorf("status %d", status)
	}
	if again, _ := script(t, "scripts/mutants", "TABLE="+table, "ONLY=", "TIER=change", cache); strings.Contains(again, "killed  ") {
		t.Errorf("a result was not kept:\n%s", again)
	}
}
