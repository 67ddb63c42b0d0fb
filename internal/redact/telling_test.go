package redact

import (
	_ "embed"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// TestSecretsAfterTellingWords compares what is left of each sentence with what is to be
// left of it, exactly.
func TestSecretsAfterTellingWords(t *testing.T) {
	t.Parallel()
	if n := len(redacttest.Sentences(1)); n < 200 {
		t.Errorf("there are only %d sentences", n)
	}
	for seed := range uint64(5) {
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

// TestTellingRecall draws values as chance makes them: nearly all are taken after a
// telling word, whatever their alphabet.
func TestTellingRecall(t *testing.T) {
	t.Parallel()
	const (
		hexadecimal = "0123456789abcdef"
		letters     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	)
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []struct {
		alphabet string
		length   int
		least    float64
	}{{letters, 16, 0.95}, {letters, 20, 0.97}, {letters, 32, 0.99}, {letters, 64, 0.999}, {letters + "+/", 44, 0.99}, {hexadecimal, 32, 0.999}, {hexadecimal, 64, 0.999}, {letters[:26] + "234567", 32, 0.99}} {
		const draws = 500
		taken := 0
		for range draws {
			value := make([]byte, kind.length)
			for i := range value {
				value[i] = kind.alphabet[random.IntN(len(kind.alphabet))]
			}
			if clean, _ := Default().String("api key " + string(value) + " was rejected"); !strings.Contains(clean, string(value)) {
				taken++
			}
		}
		share := float64(taken) / draws
		if share < kind.least {
			t.Errorf("%d of %q: %.4f are taken, want %.3f", kind.length, kind.alphabet, share, kind.least)
		}
		t.Logf("%d of %q: %.4f", kind.length, kind.alphabet, share)
	}
}
