package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
)

// A plan names the codes that somebody registered and that the policy takes over, with the
// aliases that get lost, and the audit says so once it is in force.
func TestPolicyTakesOverCodes(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	if _, err := n.Client().Codes.Put(t.Context(), fault.Definition{
		Code: "CARD_DECLINED", Origin: "me", Domain: "data", Class: recoup.ClassFatal, Category: recoup.Structural, Severity: recoup.Medium, HTTPStatus: 402,
		Description: "The bank refuses the card.", Causes: []string{"c"}, Resolution: []string{"r"}, Aliases: []recoup.Code{"CARD_REFUSED", "CARD_NO"},
	}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	text := "version: 2\ntables: {a.b: {}}\ncodes: {CARD_DECLINED: {class: fatal, description: No, aliases: [CARD_NO]}, NEW_CODE: {class: fatal, description: New}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := n.Must("policy", "plan", file)
	if !strings.Contains(plan, "CARD_DECLINED") || !strings.Contains(plan, "CARD_REFUSED") || strings.Contains(plan, "CARD_NO") || strings.Contains(plan, "NEW_CODE") {
		t.Errorf("the plan says\n%s", plan)
	}
	n.Must("policy", "apply", file, "--reason", "own domain", "--yes")
	if audit := n.Must("audit", "--json"); !strings.Contains(audit, "code.take_over") || !strings.Contains(audit, "CARD_REFUSED") {
		t.Errorf("the audit says\n%s", audit)
	}
	if again := n.Must("policy", "plan", file); strings.Contains(again, "CARD_DECLINED") {
		t.Errorf("it takes over what it has:\n%s", again)
	}
}
