package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"recoup/client"
	"recoup/internal/engine"
	"recoup/internal/policy"
)

// edited writes the default policy with changes to a file.
func edited(t *testing.T, changes ...string) string {
	t.Helper()
	text := string(policy.DefaultFile())
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("the default policy does not contain %q", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A plan says what would change; applying it changes that, and nothing without
// --rebase.
func TestPolicyApply(t *testing.T) {
	t.Parallel()
	n := startNode(t, true)
	n.advance(time.Hour)
	refusePolicies(t, n)
	file := edited(t, "version: 1.0.0", "version: 1.1.0", "MEDIUM:   {lasts: 30d,", "MEDIUM:   {lasts: 20d,")
	shown := n.must("policy", "plan", file)
	golden(t, "policy_plan.golden", n.plain(shown))
	var plan engine.Plan
	parse(t, n.must("policy", "plan", file, "--json"), &plan)
	if plan.Changed == 0 || plan.Version != "1.1.0" {
		t.Fatalf("%+v", plan)
	}
	for _, row := range []struct {
		streams Streams
		more    string
		stderr  string
	}{
		{Streams{}, "", "this needs a confirmation"},
		{typed("no\n"), "", "Put policy 1.1.0 in force for new errors and leave 41 open errors as they are? Type yes to go on: recoup: not confirmed"},
		{typed("yes\n"), "--rebase", "in force and change 34 of 41 open errors? Type 34 to go on: recoup: not confirmed"},
	} {
		r := n.as(row.streams, "", append([]string{"policy", "apply", file, "--reason", "shorter"}, strings.Fields(row.more)...)...)
		if r.status != ExitRefused || !strings.Contains(r.err, row.stderr) || r.out != "" {
			t.Errorf("%+v: status %d, said %s", row, r.status, r.err)
		}
	}
	if r := n.as(typed("yes\n"), "", "policy", "apply", file, "--reason", "shorter"); r.out != "Policy 1.1.0 is in force now: number 2.\n" || r.status != ExitDone {
		t.Errorf("status %d: %s %s", r.status, r.out, r.err)
	}
	if after := n.must("policy", "plan", file); after != shown {
		t.Errorf("open errors changed without --rebase:\n%s", after)
	}
	r := n.run("policy", "apply", file, "--reason", "shorter", "--rebase", "--yes", "--json")
	var done client.PolicyApplied
	parse(t, r.out, &done)
	var rebased engine.RebaseResult
	parse(t, string(done.Rebased), &rebased)
	if r.status != ExitDone || done.Added || rebased.Changed != plan.Changed || rebased.Open != plan.Open || rebased.Ended != 0 {
		t.Errorf("status %d: %+v, planned %+v", r.status, rebased, plan)
	}
	again := n.run("policy", "apply", file, "--reason", "shorter", "--rebase", "--yes")
	if again.out != "Policy 1.1.0 is in force already: number 2.\n41 open errors looked at, 0 changed, 0 ended before their turn.\n" {
		t.Errorf("status %d: %s %s", again.status, again.out, again.err)
	}
}

// refusePolicies applies bad files: they are refused with their lines, and the
// policy stays.
func refusePolicies(t *testing.T, n *testNode) {
	t.Helper()
	for _, row := range []struct{ file, stderr string }{
		{edited(t, "version: 1.0.0", "version: 1.1.0", "hub: dol-filings", "hub: dol-fillings"), "VALIDATION_ERROR"},
		{edited(t, "version: 1.0.0", "version: 1.1.0", "hub: dol-filings", "hub: dol-fillings"), "line 60, column "},
		{edited(t, "lasts: 30d", "lasts: 31d"), "DUPLICATE_RECORD"},
		{edited(t, "lasts: 30d", "lasts: 31d"), "way out  Give the policy file a version of its own"},
		{"no-such-file.yaml", "the policy cannot be read: open no-such-file.yaml"},
	} {
		for _, command := range []string{"plan", "apply"} {
			args := []string{"policy", command, row.file}
			if command == "apply" {
				args = append(args, "--reason", "x", "--yes")
			}
			if r := n.run(args...); r.status != ExitRefused || !strings.Contains(r.err, row.stderr) || r.out != "" {
				t.Errorf("%s %s: status %d, said %q, want %q", command, row.file, r.status, r.err, row.stderr)
			}
		}
	}
}
