package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A plan says what would change; applying it changes that, and nothing without
// --rebase.
func TestPolicyApply(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	n.Wait(time.Hour)
	refusePolicies(t, n)
	file := clitest.Edited(t, "version: 1.0.0", "version: 1.1.0", "MEDIUM:   {lasts: 30d,", "MEDIUM:   {lasts: 20d,")
	shown := n.Must("policy", "plan", file)
	clitest.Golden(t, "policy_plan.golden", n.Plain(shown))
	var plan engine.Plan
	clitest.Parse(t, n.Must("policy", "plan", file, "--json"), &plan)
	if plan.Changed == 0 || plan.Version != "1.1.0" {
		t.Fatalf("%+v", plan)
	}
	for _, row := range []struct {
		streams command.Streams
		more    string
		stderr  string
	}{
		{command.Streams{}, "", "this needs a confirmation"},
		{clitest.Typed("no\n"), "", "Put policy 1.1.0 in force for new errors and leave 41 open errors as they are? Type yes to go on: recoup: not confirmed"},
		{clitest.Typed("yes\n"), "--rebase", "in force and change 34 of 41 open errors? Type 34 to go on: recoup: not confirmed"},
	} {
		r := n.As(row.streams, "", append([]string{"policy", "apply", file, "--reason", "shorter"}, strings.Fields(row.more)...)...)
		if r.Status != command.ExitRefused || !strings.Contains(r.Err, row.stderr) || r.Out != "" {
			t.Errorf("%+v: status %d, said %s", row, r.Status, r.Err)
		}
	}
	if r := n.As(clitest.Typed("yes\n"), "", "policy", "apply", file, "--reason", "shorter"); r.Out != "Policy 1.1.0 is in force now: number 2.\n" || r.Status != command.ExitDone {
		t.Errorf("status %d: %s %s", r.Status, r.Out, r.Err)
	}
	if after := n.Must("policy", "plan", file); after != shown {
		t.Errorf("open errors changed without --rebase:\n%s", after)
	}
	r := n.Run("policy", "apply", file, "--reason", "shorter", "--rebase", "--yes", "--json")
	var done wire.PolicyApplied
	clitest.Parse(t, r.Out, &done)
	var rebased engine.RebaseResult
	clitest.Parse(t, string(done.Rebased), &rebased)
	if r.Status != command.ExitDone || done.Added || rebased.Changed != plan.Changed || rebased.Open != plan.Open || rebased.Ended != 0 {
		t.Errorf("status %d: %+v, planned %+v", r.Status, rebased, plan)
	}
	again := n.Run("policy", "apply", file, "--reason", "shorter", "--rebase", "--yes")
	if again.Out != "Policy 1.1.0 is in force already: number 2.\n41 open errors checked, 0 changed, 0 ended early.\n" {
		t.Errorf("status %d: %s %s", again.Status, again.Out, again.Err)
	}
}

// refusePolicies applies bad files: they are refused with their lines, and the
// policy stays.
func refusePolicies(t *testing.T, n *clitest.Node) {
	t.Helper()
	for _, row := range []struct{ file, stderr string }{
		{clitest.Edited(t, "version: 1.0.0", "version: 1.1.0", "hub: dol-filings", "hub: dol-fillings"), "VALIDATION_ERROR"},
		{clitest.Edited(t, "version: 1.0.0", "version: 1.1.0", "hub: dol-filings", "hub: dol-fillings"), "line 60, column "},
		{clitest.Edited(t, "lasts: 30d", "lasts: 31d"), "DUPLICATE_RECORD"},
		{clitest.Edited(t, "lasts: 30d", "lasts: 31d"), "way out  Change the version in the policy file"},
		{"no-such-file.yaml", "cannot read the policy: open no-such-file.yaml"},
	} {
		for _, verb := range []string{"plan", "apply"} {
			args := []string{"policy", verb, row.file}
			if verb == "apply" {
				args = append(args, "--reason", "x", "--yes")
			}
			if r := n.Run(args...); r.Status != command.ExitRefused || !strings.Contains(r.Err, row.stderr) || r.Out != "" {
				t.Errorf("%s %s: status %d, said %q, want %q", verb, row.file, r.Status, r.Err, row.stderr)
			}
		}
	}
}
