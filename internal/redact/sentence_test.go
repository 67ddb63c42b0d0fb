package redact

import (
	_ "embed"
	"regexp"
	"strings"
	"testing"
)

var (
	//go:embed testdata/sentences.txt
	sentences string

	// These were written before the code that finds what is in sentences.txt.
	//go:embed testdata/sentences_heldout.txt
	sentencesHeldOut string

	//go:embed testdata/sentences_clean.txt
	sentencesClean string

	//go:embed testdata/sentences_open.txt
	sentencesOpen string
)

// sentenceLines returns the lines of a file without its comments.
func sentenceLines(file string) (lines []string) {
	for line := range strings.Lines(file) {
		if !strings.HasPrefix(line, "# ") {
			lines = append(lines, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "⏎", "\n"))
		}
	}
	return lines
}

var markedSecret = regexp.MustCompile(`«(.*?)»`)

// cleanedSentence matches a marked sentence with a replacement for each of its secrets and
// everything else as it was.
func cleanedSentence(marked string) *regexp.Regexp {
	var b strings.Builder
	at := 0
	for _, m := range markedSecret.FindAllStringIndex(marked, -1) {
		b.WriteString(regexp.QuoteMeta(marked[at:m[0]]) + `\[redacted:[a-z0-9]+\]`)
		at = m[1]
	}
	return regexp.MustCompile(`^` + b.String() + regexp.QuoteMeta(marked[at:]) + `$`)
}

// checkSentence checks that every secret of a marked sentence is replaced and nothing else, and
// returns 1 for a sentence that leaks, and 1 for one that is damaged.
func checkSentence(t *testing.T, name, marked string) (leaked, damaged int) {
	t.Helper()
	text := markedSecret.ReplaceAllString(marked, "$1")
	got, _ := Default().String(text)
	leaks := false
	for _, secret := range markedSecret.FindAllStringSubmatch(marked, -1) {
		leaks = leaks || strings.Contains(got, secret[1])
	}
	switch {
	case leaks:
		leaked++
		t.Errorf("%s: leaked\n%q\nbecame %q", name, text, got)
	case !cleanedSentence(marked).MatchString(got):
		damaged++
		t.Errorf("%s: want only the secrets replaced\n%q\nbecame %q", name, text, got)
	}
	if again, _ := Default().String(got); again != got {
		t.Errorf("%s: cleaned twice, %q became %q", name, got, again)
	}
	return leaked, damaged
}

// TestSecretsInSentences checks that every marked secret is replaced, and that the words
// around it stay.
func TestSecretsInSentences(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"sentences": sentences, "held out": sentencesHeldOut} {
		lines := sentenceLines(file)
		if len(lines) < 200 {
			t.Errorf("%s: only %d lines", name, len(lines))
		}
		leaked, damaged := 0, 0
		for _, marked := range lines {
			leaks, damages := checkSentence(t, name, marked)
			leaked, damaged = leaked+leaks, damaged+damages
		}
		t.Logf("%s: %d lines, %d leaked, %d with other words changed", name, len(lines), leaked, damaged)
	}
}

// TestSentencesWithoutSecretsStay checks that sentences with the same words and without a
// secret are not changed.
func TestSentencesWithoutSecretsStay(t *testing.T) {
	t.Parallel()
	lines := sentenceLines(sentencesClean)
	if len(lines) < 80 {
		t.Errorf("only %d lines", len(lines))
	}
	for _, line := range lines {
		if got, _ := Default().String(line); got != line {
			t.Errorf("%q\nbecame %q", line, got)
		}
	}
}

// TestOpenSentences lists what is known to be stored. A sentence whose secret is found now
// belongs in sentences.txt.
func TestOpenSentences(t *testing.T) {
	t.Parallel()
	for _, marked := range sentenceLines(sentencesOpen) {
		text := markedSecret.ReplaceAllString(marked, "$1")
		if got, _ := Default().String(text); cleanedSentence(marked).MatchString(got) {
			t.Errorf("%q became %q: move it to sentences.txt", text, got)
		}
	}
}
