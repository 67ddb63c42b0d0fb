package app

import (
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
)

// cleaned returns a text without secrets, and the rules that found some. The
// address of a machine is none: policies and logs have use for it.
func cleaned(text string) (clean string, rules []string) {
	clean, found := redact.Default().String(text)
	delete(found, "ipv4")
	delete(found, "ipv6")
	if len(found) == 0 {
		return text, nil
	}
	return clean, slices.Sorted(maps.Keys(found))
}

// secretsInPolicy says where a policy holds secrets, in a comment or elsewhere. Such
// a policy is refused: its text is kept as it is, and shown to all who may see it.
func secretsInPolicy(text string) (bad []fault.FieldError) {
	complain := func(where string, rules []string) {
		bad = append(bad, fault.FieldError{Field: "text", Constraint: "no_secret",
			Message: where + " looks like it holds a secret or personal data (rule " + strings.Join(rules, ", ") + ")"})
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if _, rules := cleaned(line); rules != nil {
			complain(fmt.Sprintf("line %d", number), rules)
		}
	}
	// What is on several lines may be in comments, or in quotes with its ends of lines escaped.
	for _, whole := range []string{text, commentMark.ReplaceAllString(text, ""), unescaped(text)} {
		if _, rules := cleaned(whole); rules != nil && bad == nil {
			complain("the policy", rules)
		}
	}
	return bad
}

// unescaped is a text whose escaped characters, as quotes may have them, are written as
// they are meant.
func unescaped(text string) string {
	text = escapedCharacter.ReplaceAllStringFunc(text, func(e string) string {
		n, _ := strconv.ParseUint(e[2:], 16, 8) // two digits, as the pattern says
		return string(rune(n))
	})
	return escapedSpace.Replace(text)
}

var (
	escapedCharacter = regexp.MustCompile(`\\u00[0-7][0-9a-fA-F]`)
	escapedSpace     = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`)
)

// commentMark begins a line of a policy that is a comment.
var commentMark = regexp.MustCompile(`(?m)^[ \t]*#[ \t]?`)

// unsaid keeps secrets out of the log, also those in what others' errors say.
func unsaid(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		if clean, rules := cleaned(a.Value.String()); rules != nil {
			return slog.String(a.Key, clean)
		}
	case slog.KindAny:
		if clean, rules := cleaned(fmt.Sprintf("%+v", a.Value.Any())); rules != nil {
			return slog.String(a.Key, clean)
		}
	}
	return a
}
