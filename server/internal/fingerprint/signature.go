// Package fingerprint says which failures are the same one seen again: what is left of
// a text once what differs from one failure to the next is taken out of it.
package fingerprint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
)

// maxSignature is the longest signature of a cause, in bytes.
const maxSignature = 200

// Group returns the group of an error: that of all errors of its table and code whose
// messages have the same signature.
func Group(table string, code recoup.Code, message string) recoup.ID {
	return recoup.GroupID(table, "", code, Signature(message))
}

// Cause returns the line of a stack that says what went wrong in the first place:
// the last link of the chain, as Go, Java and Python write it.
func Cause(stack string) string {
	if strings.IndexByte(stack, '\n') < 0 && strings.IndexByte(stack, '\r') < 0 { // most messages
		return link(strings.TrimSpace(stack))
	}
	lines := strings.FieldsFunc(stack, func(r rune) bool { return r == '\n' || r == '\r' })
	first, root, last := "", "", ""
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if first == "" {
			first = line
		}
		if of := link(line); of != line {
			root = of
		}
		last = line
	}
	switch {
	case root != "":
		return root
	case strings.HasPrefix(first, "Traceback "):
		return last
	}
	return first
}

// link returns what a line names as the cause, or the line.
func link(line string) string {
	const mark = "caused by:"
	if len(line) > len(mark) && strings.EqualFold(line[:len(mark)], mark) {
		return strings.TrimSpace(line[len(mark):])
	}
	return line
}

// Signature is the cause of a failure without what differs from one to the next:
// failures that have it in common are one group. It is made of a cleaned text, one for
// every report, and therefore without regular expressions, which cost ten times as much.
func Signature(text string) string {
	s := shape(quoted(Cut(Cause(text), 4*maxSignature)))
	return Cut(strings.TrimSpace(s), maxSignature)
}

// Tells reports whether a text has something that messages of one kind have in common: a
// word of three letters or more beside what differs from one to the next.
func Tells(text string) bool {
	rest := strings.NewReplacer("<text>", " ", "<id>", " ", "<hex>", " ", "<n>", " ").Replace(Signature(text))
	letters := 0
	for _, r := range rest {
		if letters++; !unicode.IsLetter(r) {
			letters = 0
		}
		if letters == 3 {
			return true
		}
	}
	return false
}

// Cut shortens text to a number of bytes, at the end of a character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
