package deadletters_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// Triage shows what there is to be seen and asks for it; what is typed is held to the
// dead letter, and the note keeps it. Nothing is filled in for who does not look.
func TestDeadLetterTriageConfirms(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	c := n.Client()
	defer c.Close()
	d, err := c.DeadLetters.Record(t.Context(), recoup.StageFailure{WorkID: recoup.ID{7, 15: 1}, Pipeline: "criticizer", Stage: "llm", Class: "NETWORK_TIMEOUT", Exhausted: true,
		LastStack: "none", Context: map[string]any{"attempts": map[string]any{"llm": 5}}, FirstFailureAt: time.Now(), LastFailureAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	id := d.ErrorID.String()
	one, all := []string{"dead-letters", "triage", id, "--cause", "transient"}, []string{"dead-letters", "triage", "--group", group(n, "criticizer"), "--cause", "transient"}
	for _, row := range []struct {
		typed  string
		args   []string
		status int
		want   []string // is said, in this order
	}{
		{"", one, command.ExitRefused, []string{"NETWORK_TIMEOUT at llm", "exhausted", "yes: every retry failed", "Class of the failure: ", "not confirmed: nothing was changed"}},
		{"NETWORK_TIMEOUT\n\n", one, command.ExitRefused, []string{"Stage that failed: ", "not confirmed: nothing was changed"}},
		{"DATABASE_ERROR\nfetch\nno\n", one, command.ExitRefused, []string{"not the one that failed, llm", "not that of the failure, NETWORK_TIMEOUT", "exhausted is false"}},
		{"NETWORK_TIMEOUT\nllm\nno\n1\n", all, command.ExitRefused, []string{"exhausted", "1 of 1 looked at", "the dead letter says true"}},
		{"network_timeout\nllm\nyes\n1\n", all, command.ExitDone, []string{"Type 1 to go on", "1 dead letter of 1 triaged."}},
		{"yes\n", append(one, "--class", "network_timeout", "--stage", "llm"), command.ExitDone, []string{"exhausted, yes or no? ", "triaged; next: remediate."}},
	} {
		r := n.As(clitest.Typed(row.typed), n.Key, row.args...)
		if said := r.Err + r.Out; r.Status != row.status || !inOrder(said, row.want) {
			t.Errorf("typed %q: status %d, and %q are not in\n%s", row.typed, r.Status, row.want, said)
		}
	}
	if said, want := n.Must("dead-letters", "show", id), `{"cause":"TRANSIENT","error_class":"NETWORK_TIMEOUT","exhausted":true,"stage":"llm"}`; strings.Count(said, want) != 2 {
		t.Errorf("%q is not there twice:\n%s", want, said)
	}
}

// inOrder reports whether a text has parts in their order.
func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}
