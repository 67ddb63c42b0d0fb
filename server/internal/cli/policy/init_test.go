package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// TestInit proves that what init writes passes the check, by flags and by answers, and
// that it writes over nothing.
func TestInit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	out, stderr, status := clitest.Run(t, "init", file, "--table", "payments.capture_errors", "--team", "payments-team", "--entity", "order_id")
	if status != command.ExitDone || !strings.Contains(out, "recoup serve --policy "+file) || !strings.Contains(out, "--code ORDER_REFUSED") {
		t.Fatalf("init ends with %d: %s%s", status, out, stderr)
	}
	if _, stderr, status := clitest.Run(t, "policy", "check", file); status != command.ExitDone {
		t.Errorf("the check ends with %d: %s", status, stderr)
	}
	if out, _, _ := clitest.Run(t, "codes", "show", "order_refused", "--policy", file); !strings.Contains(out, "The other side says no") {
		t.Errorf("the policy's own code is shown as %s", out)
	}
	if out, _, _ := clitest.Run(t, "policy", "explain", "--policy", file, "--table", "payments.capture_errors", "--code", "ORDER_REFUSED"); !strings.Contains(out, "PARK") {
		t.Errorf("the policy's own code is explained as %s", out)
	}
	if _, stderr, status := clitest.Run(t, "init", file, "--table", "a.b"); status != command.ExitRefused || !strings.Contains(stderr, "exists already") {
		t.Errorf("a second time it ends with %d: %s", status, stderr)
	}
	for _, args := range [][]string{{}, {"--table", "errors"}, {"--table", "a.b", "--entity", "Order"}, {"--example", "none"}} {
		if _, stderr, status := clitest.Run(t, append([]string{"init", filepath.Join(t.TempDir(), "x.yaml")}, args...)...); status != command.ExitUsage {
			t.Errorf("%v ends with %d: %s", args, status, stderr)
		}
	}
}

// TestInitAsks proves that a question is asked until its answer can be used, and that
// none need be answered.
func TestInitAsks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	s := clitest.Typed("Thumbnails\nimages.thumbnail_errors\n\nimage_id\nMy Chat\nimages-chat\n")
	var out, stderr strings.Builder
	s.Out, s.Err = &out, &stderr
	if status := cli.Run(t.Context(), []string{"init", file}, s); status != command.ExitDone {
		t.Fatalf("init ends with %d: %s", status, stderr.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"images.thumbnail_errors:", "team: images-team", "entity: image_id", "{channel: images-chat}"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the policy has no %s:\n%s", want, text)
		}
	}
	if n := strings.Count(stderr.String(), "is no "); n != 2 {
		t.Errorf("%d answers were refused: %s", n, stderr.String())
	}
}

// TestInitEnds proves that input which ends in the middle of the questions writes nothing,
// and that a flag which cannot be used is refused before anything is asked.
func TestInitEnds(t *testing.T) {
	for name, row := range map[string]struct {
		typed  string
		args   []string
		status int
		want   string
	}{
		"at once":     {"", nil, command.ExitRefused, "the input has ended, and nothing was written"},
		"in between":  {"images.errors\n\n", nil, command.ExitRefused, "--table images.errors"},
		"a bad flag":  {"a.b\n\n\n\n", []string{"--team", "x\ny"}, command.ExitUsage, "is no team"},
		"a bad entry": {"a.b\n\n\n\n", []string{"--entity", "Order ID"}, command.ExitUsage, "is no entity"},
	} {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		s := clitest.Typed(row.typed)
		var out, stderr strings.Builder
		s.Out, s.Err = &out, &stderr
		status := cli.Run(t.Context(), append([]string{"init", file}, row.args...), s)
		if status != row.status || !strings.Contains(stderr.String(), row.want) {
			t.Errorf("%s: init ends with %d: %s", name, status, stderr.String())
		}
		if row.args != nil && strings.Contains(stderr.String(), "What fails?") {
			t.Errorf("%s: it asks first: %s", name, stderr.String())
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: a file was written", name)
		}
	}
}

// TestPolicyOfAServer proves that commands which read a policy read the one in force
// where a server is named, say so, and know its codes.
func TestPolicyOfAServer(t *testing.T) {
	n := clitest.Start(t, false)
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("version: 2\ntables: {a.b: {}}\ncodes: {OWN_CODE: {class: fatal, description: Ours}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Must("policy", "apply", file, "--reason", "own domain", "--yes")
	for _, args := range [][]string{{"policy", "show"}, {"policy", "explain", "--table", "a.b", "--code", "OWN_CODE"}, {"codes", "show", "OWN_CODE"}} {
		if got := n.Run(args...); got.Status != command.ExitDone || !strings.Contains(got.Err, "policy 2, in force on") {
			t.Errorf("%v ends with %d: %s", args, got.Status, got.Err)
		}
	}
	if out := n.Must("policy", "show", "--yaml"); !strings.HasPrefix(out, "version: 2\n") {
		t.Errorf("the policy in force is shown as %s", out)
	}
	again := filepath.Join(t.TempDir(), "again.yaml")
	n.Must("init", again)
	text, err := os.ReadFile(again)
	if err != nil || !strings.Contains(string(text), "OWN_CODE") {
		t.Errorf("the policy in force is written as %s (%v)", text, err)
	}
}
