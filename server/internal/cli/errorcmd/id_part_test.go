package errorcmd_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// TestShortIDs proves that what a terminal shows of an id is what a command takes, and
// that a part that several ids have is refused with what it may mean.
func TestShortIDs(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	for _, entity := range []string{"c-1", "c-2"} {
		n.Must("report", "--table", "outreach.dol_errors", "--entity", entity, "--code", "VALIDATION_ERROR", "--message", "no")
	}
	r := n.As(command.Streams{Width: 80}, n.Key, "errors", "list")
	short, _, _ := strings.Cut(strings.Split(r.Out, "\n")[1], " ")
	whole := n.IDs()[0]
	if len(short) < 6 || len(short) > 12 || !strings.HasSuffix(whole, short) {
		t.Fatalf("shown is %q of %s", short, whole)
	}
	if out := n.Must("errors", "show", short); !strings.Contains(out, whole) {
		t.Errorf("'errors show %s' shows\n%s", short, out)
	}
	if out := n.Must("errors", "history", whole[24:]); !strings.Contains(out, "report") {
		t.Errorf("its history is\n%s", out)
	}
	r = n.Run("errors", "resolve", whole[:6], "--reason", "x")
	if r.Status != command.ExitRefused || !strings.Contains(r.Err, "is part of 2 ids") || !strings.Contains(r.Err, whole) || strings.Count(r.Err, "outreach.dol_errors") != 2 {
		t.Errorf("by what both have: %d\n%s", r.Status, r.Err)
	}
	r = n.Run("errors", "show", "000000000000")
	if r.Status != command.ExitRefused || r.Err != "recoup: no id begins or ends with \"000000000000\": 'recoup errors list' prints them\n" {
		t.Errorf("by what none has: %d %s", r.Status, r.Err)
	}
	n.Must("errors", "archive", short, "--reason", "done", "--yes")
	if out := n.Must("errors", "show", short); !strings.Contains(out, "ARCHIVED") {
		t.Errorf("in the archive it is\n%s", out)
	}
	key := strings.Fields(strings.Split(n.Must("keys", "list"), "\n")[1])[0]
	if r := n.Direct("keys", "revoke", key[28:], "--reason", "x"); r.Status != command.ExitDone || !strings.Contains(r.Out, key+" revoked") {
		t.Errorf("a key by its end, in the database: %d %s%s", r.Status, r.Out, r.Err)
	}
}
