package stage_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact/redacttest"
	"github.com/recoup-dev/recoup/stage"
)

// Every field of spec 002, 8.4.
func TestDeadLetterFields(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	_, err := w.run(t, w.does("fetch"), w.does("llm", repeat(timeout, 9)...))
	d := dead(t, err)
	if d.WorkID != work().ID || d.Pipeline != "criticizer" || d.Stage != "llm" || d.Class != fault.CodeNetworkTimeout || !d.Exhausted || !d.Final || d.EntityID != "CO-1" {
		t.Errorf("it is %+v", d)
	}
	if !d.FirstFailureAt.Equal(epoch) || !d.LastFailureAt.Equal(w.now) || !d.LastFailureAt.After(d.FirstFailureAt) {
		t.Errorf("failed from %v to %v", d.FirstFailureAt, d.LastFailureAt)
	}
	if d.PayloadRef != "s3://bucket/key" || d.PayloadHash != stage.PayloadHash(work().Payload) || len(d.PayloadHash) != 16 {
		t.Errorf("payload %s, %s", d.PayloadRef, d.PayloadHash)
	}
	if !strings.Contains(d.LastStack, "did not answer") || !errors.Is(err, timeout) {
		t.Errorf("stack %q", d.LastStack)
	}
	written, _ := json.Marshal(d.Context)
	want := `{"attempts":{"fetch":1,"llm":5},"exhausted":true,"idempotency_key":"` + work().ID.String() + `/llm",` +
		`"payload_hash":"` + d.PayloadHash + `","request_ids":{"openai":"chatcmpl-9"},"stage":"llm"}`
	if string(written) != want {
		t.Errorf("context is\n%s, want\n%s", written, want)
	}
}

// Nothing of the corpus gets into a dead letter, by whatever way.
func TestNoSecretInDeadLetters(t *testing.T) {
	t.Parallel()
	for _, secret := range redacttest.Samples(1) {
		w := newWorld(1)
		cause := fmt.Errorf("calling upstream: %w", errors.New("401 with "+secret.Text))
		failure := stage.WithContext(fault.Wrap(cause, fault.CodeValidationError, "Bad: %s", secret.Text), map[string]any{
			"upstream": secret.Text, "request_id": secret.Text, "request_ids": map[string]any{secret.Text: "1", "x": secret.Text}, "note": secret.Text,
			"attempts": map[string]any{secret.Text: 1},
		})
		_, err := w.run(t, w.does("llm", failure))
		written, _ := json.Marshal(dead(t, err))
		if strings.Contains(string(written), secret.Secret) {
			t.Errorf("%s is in %s", secret.Secret, written)
		}
	}
}

func TestStackIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	_, err := w.run(t, w.does("llm", errors.New(strings.Repeat("ünd so weiter ", 10_000))))
	if n := len(dead(t, err).LastStack); n > 17<<10 || n < 15<<10 {
		t.Errorf("the stack has %d bytes", n)
	}
}
