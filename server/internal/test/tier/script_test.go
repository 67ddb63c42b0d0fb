package tier_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// script runs bash in the root of the tree and returns what it prints and its status.
func script(t *testing.T, text string, env ...string) (out string, status int) {
	t.Helper()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = "../../../.."
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
		step 'absent' 10 bash -c 'exit 75'
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
		{"1100", "0", 0, []string{`first +ok +\d+ s +budget +10 s`, `second +FAILED`, `absent +skipped`, `\n +part +ok +\d+ s +budget +5 s`, `browser +skipped +the change`, `over budget: slow: \d+ s, budget 10 s`, `all steps succeeded`}},
		{"1201", "0", 1, []string{`the run took 20 min \d\d s; the limit is 20 minutes`}},
		{"60", "1", 1, []string{`total 1 min \d\d s`, `FAILED\n$`}},
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

// Every planted fault still applies to the tree: its old text occurs once in its file, and
// its packages exist.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	const root = "../../../.."
	table, err := os.ReadFile(filepath.Join(root, "scripts/mutants.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(columns) != 6 || slices.Contains(columns, "") {
			t.Errorf("row %d has %d columns, or an empty one: %q", rows, len(columns), line)
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, columns[0]))
		if err != nil {
			t.Error(err)
		}
		if n := strings.Count(string(source), columns[1]); n != 1 || columns[1] == columns[2] {
			t.Errorf("row %d: %s has %d times, expected once: %s", rows, columns[0], n, columns[1])
		}
		for _, target := range strings.Fields(columns[3]) {
			pkg, _, _ := strings.Cut(target, ":")
			if tests, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go")); err != nil || len(tests) == 0 {
				t.Errorf("row %d: package %s has no tests", rows, pkg)
			}
		}
		if columns[4] != "change" && columns[4] != "nightly" {
			t.Errorf("row %d: tier %q, expected change or nightly", rows, columns[4])
		}
	}
	if rows < 60 {
		t.Errorf("the table has %d faults, expected 60 or more", rows)
	}
}

// make mutants tells faults that are noticed from faults that are not, and from rows that
// no longer apply.
func TestMutantsAreJudged(t *testing.T) {
	t.Parallel()
	const file, tests = "server/internal/check/check.go", "server/internal/test/tier:^TestQuarter$"
	const quarter, packages = "server/internal/test/tier/tier.go\treturn n % 4\t", "\t" + tests + "\tchange\t"
	table := filepath.Join(t.TempDir(), "table.tsv")
	rows := []string{
		quarter + "return n % 3" + packages + "a fault that is noticed",
		quarter + "return (n % 4)" + packages + "no fault at all",
		quarter + "return n % 4 // the same" + strings.Replace(packages, "change", "nightly", 1) + "left to nightly",
		quarter + "return n % four" + packages + "does not compile",
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
