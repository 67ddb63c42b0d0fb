package redact

import (
	_ "embed"
	"strings"
	"testing"

	"recoup/internal/redact/redacttest"
)

// TestSecretsAfterTellingWords compares what is left of each sentence with what is to be
// left of it, exactly.
func TestSecretsAfterTellingWords(t *testing.T) {
	t.Parallel()
	if n := len(redacttest.Sentences(1)); n < 200 {
		t.Errorf("there are only %d sentences", n)
	}
	for seed := range uint64(20) {
		for _, s := range redacttest.Sentences(seed) {
			got, evidence := Default().String(s.Text)
			if got != s.Want {
				t.Errorf("%q\nbecame %q\nwant   %q", s.Text, got, s.Want)
			}
			if again, _ := Default().String(got); again != got {
				t.Errorf("cleaned twice: %q became %q", got, again)
			}
			if total := sum(evidence); total != len(s.Secrets) {
				t.Errorf("%q: evidence %v", s.Text, evidence)
			}
		}
	}
}

func sum(e Evidence) (n int) {
	for _, count := range e {
		n += count
	}
	return n
}

// These use the telling words and hold nothing secret.
//
//go:embed testdata/harmless.txt
var harmless string

// TestTellingWordsAlone holds every harmless line to stay as it is.
func TestTellingWordsAlone(t *testing.T) {
	t.Parallel()
	lines, touched := 0, 0
	for line := range strings.Lines(harmless) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n")
		lines++
		if clean, _ := Default().String(line); clean != line {
			touched++
			t.Errorf("%q\nbecame %q", line, clean)
		}
	}
	if lines < 300 {
		t.Errorf("there are only %d lines", lines)
	}
	t.Logf("%d of %d lines touched", touched, lines)
}
