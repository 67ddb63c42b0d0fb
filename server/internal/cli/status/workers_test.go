package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// TestNobodyClaims proves that a retry which is due, and which no worker claims, needs a
// person: status, workers and explain say so, and where.
func TestNobodyClaims(t *testing.T) {
	n := clitest.Start(t, false)
	if out := n.Must("workers"); !strings.Contains(out, "outreach.dol_errors") || !strings.Contains(out, "not in 7 days") {
		t.Errorf("workers of nothing:\n%s", out)
	}
	n.Must("report", "--table", "outreach.dol_errors", "--entity", "c-1", "--code", "NETWORK_TIMEOUT", "--message", "slow")
	if got := n.Run("status"); strings.Contains(got.Out, "! workers") {
		t.Errorf("what is not due yet:\n%s", got.Out)
	}
	n.Wait(12 * time.Minute)
	got := n.Run("status")
	if got.Status != command.ExitRefused || !strings.Contains(got.Out, "! workers") || !strings.Contains(got.Out, "1 due and unclaimed") ||
		!strings.Contains(got.Out, "no worker claims outreach.dol_errors") {
		t.Errorf("what nobody claims: %d\n%s%s", got.Status, got.Out, got.Err)
	}
	id := n.IDs("--table", "outreach.dol_errors")[0]
	if out := strings.Join(strings.Fields(n.Must("errors", "explain", id)), " "); !strings.Contains(out, "no worker has claimed outreach.dol_errors in seven days") {
		t.Errorf("explain says\n%s", out)
	}
}
