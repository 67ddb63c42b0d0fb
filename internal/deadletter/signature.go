package deadletter

import (
	"regexp"
	"strings"
)

// maxSignature is the longest signature of a cause, in bytes.
const maxSignature = 200

// cause returns the line of a stack that says what went wrong in the first place:
// the last link of the chain, as Go, Java and Python write it.
func cause(stack string) string {
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
		if len(line) > len(link) && strings.EqualFold(line[:len(link)], link) {
			root = strings.TrimSpace(line[len(link):])
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

const link = "caused by:"

// variable is what differs from one failure to the next of the same cause. The
// order matters: what is taken out first cannot be found as something else.
var variable = []struct {
	found *regexp.Regexp
	is    string
}{
	{regexp.MustCompile(`"[^"]*"` + "|`[^`]*`"), "<text>"},
	{regexp.MustCompile(`(^|[\s(=:,\[])'[^']*'`), "$1<text>"}, // not the apostrophe of a word
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<id>"},
	{regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`), "<id>"},
	{regexp.MustCompile(`(?i)\b0x[0-9a-f]+\b`), "<hex>"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]*[0-9][0-9a-f]*[a-f][0-9a-f]*\b|\b[0-9a-f]*[a-f][0-9a-f]*[0-9][0-9a-f]*\b`), "<hex>"},
	{regexp.MustCompile(`\d+([.,:/_-]?\d+)*`), "<n>"},
	{regexp.MustCompile(`\s+`), " "},
}

// Signature is the cause of a failure without what differs from one to the next:
// failures that have it in common are one group. It is made of a cleaned stack.
func Signature(stack string) string {
	s := cut(cause(stack), 4*maxSignature)
	for _, v := range variable {
		s = v.found.ReplaceAllString(s, v.is)
	}
	return cut(strings.TrimSpace(s), maxSignature)
}
