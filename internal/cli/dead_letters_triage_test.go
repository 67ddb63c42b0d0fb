package cli

import (
	"strings"
	"testing"
	"time"

	"recoup"
	"recoup/client"
)

// What a dead letter's retries came to is shown, and triage confirms what was looked
// at: the note has that, and nothing that nobody confirmed.
func TestDeadLetterTriageConfirms(t *testing.T) {
	t.Parallel()
	n := startNode(t, false)
	c := n.client()
	defer c.Close()
	d, err := c.Bury(t.Context(), client.NewDeadLetter{WorkID: recoup.ID{7, 15: 1}, Pipeline: "criticizer", Stage: "llm", Class: "NETWORK_TIMEOUT", Exhausted: true,
		LastStack: "none", Context: map[string]any{"attempts": map[string]any{"llm": 5}}, FirstFailureAt: time.Now(), LastFailureAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	id := d.ErrorID.String()
	said := n.transcript(
		[]string{"dead-letters", "show", id},
		[]string{"dead-letters", "triage", id, "--cause", "transient", "--stage", "fetch"},
		[]string{"dead-letters", "triage", id, "--cause", "transient", "--class", "network_timeout", "--stage", "llm"},
		[]string{"dead-letters", "show", id},
	)
	for _, want := range []string{
		"spent: it could be retried", "MAX_RETRIES_EXCEEDED", "the stage that failed is another", `{"cause":"TRANSIENT","error_class":"NETWORK_TIMEOUT","stage":"llm"}`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
}
