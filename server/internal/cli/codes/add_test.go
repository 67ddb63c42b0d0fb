package codes_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// TestAdd proves that a code of one's own can be registered with little, is listed with
// the server's, and that those of Recoup stay.
func TestAdd(t *testing.T) {
	n := clitest.Start(t, false)
	if out := n.Must("codes", "add", "card_declined", "--class", "fatal", "--description", "The bank refused the card."); !strings.Contains(out, "CARD_DECLINED is registered: class fatal, category STRUCTURAL, severity MEDIUM.") {
		t.Error(out)
	}
	if out := n.Must("codes", "list", "--json"); !strings.Contains(out, "CARD_DECLINED") {
		t.Errorf("the list of the server lacks it: %.200s", out)
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"NETWORK_TIMEOUT", "--class", "fatal", "--description", "Ours"}, command.ExitRefused, "codes that Recoup ships"},
		{[]string{"OWN", "--class", "fatal", "--category", "odd", "--description", "Ours"}, command.ExitRefused, "category"},
		{[]string{"OWN", "--class", "sometimes", "--description", "Ours"}, command.ExitUsage, "unknown class"},
		{[]string{"OWN"}, command.ExitUsage, "--class"},
	} {
		if got := n.Run(append([]string{"codes", "add"}, c.args...)...); got.Status != c.status || !strings.Contains(got.Err, c.says) {
			t.Errorf("%v ends with %d: %s", c.args, got.Status, got.Err)
		}
	}
}
