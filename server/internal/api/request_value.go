package api

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/internal/redact"
)

// The bounds of what an answer repeats of a request.
const (
	maxShownName  = 64      // bytes
	maxShownValue = 80      // characters
	maxLookedAt   = 8 << 10 // bytes: longer values are not looked at, and not repeated
)

// shownName is a name of a caller's own as an answer repeats it.
func shownName(name string) string {
	switch {
	case len(name) > maxShownName:
		return fmt.Sprintf("(a name of %d bytes)", len(name))
	case name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "(a name that cannot be shown)"
	case secretive(name) || redacted(name) != name:
		return "(a name that looks like a secret)"
	}
	return name
}

func redacted(text string) string {
	text, _ = redact.Default().String(text)
	return text
}

// shown is the value of a field as an answer repeats it: without secrets, also by the
// field's name, and short. It is false where nothing is repeated: of objects, of lists,
// and of what is too long to be looked at.
func shown(field string, raw []byte) (value any, ok bool) {
	if len(raw) == 0 || len(raw) > maxLookedAt || raw[0] == '{' || raw[0] == '[' {
		return nil, false
	}
	var text string
	if raw[0] != '"' {
		text = string(raw)
		if text == "true" || text == "false" {
			return text == "true", true
		}
		if clean := redacted(text); clean != text || !common(text) {
			return shorten(clean), true
		}
		return json.Number(text), true
	}
	if json.Unmarshal(raw, &text) != nil {
		return nil, false
	}
	return shownText(field, text)
}

// common reports whether every client can read a number.
func common(number string) bool {
	_, err := strconv.ParseFloat(number, 64)
	return err == nil && len(number) <= maxShownValue
}

// shownText is [shown] of a text.
func shownText(field, text string) (value any, ok bool) {
	if len(text) > maxLookedAt || secretive(text) {
		return nil, false
	}
	name := field[strings.LastIndexByte(field, '.')+1:]
	clean, _ := redact.Default().Value(map[string]any{name: text})
	members, _ := clean.(map[string]any)
	text, ok = members[name].(string)
	return shorten(text), ok
}

// shorten cuts text to as many characters as an answer repeats.
func shorten(text string) string {
	characters := 0
	for i := range text {
		if characters++; characters > maxShownValue {
			return text[:i] + "…"
		}
	}
	return text
}

// maxIgnored is how many columns an answer names.
const maxIgnored = 20

// plainNames are those that may be repeated.
func plainNames(names []string) (list []string) {
	for _, name := range names[:min(len(names), maxIgnored)] {
		if len(name) > 40 || secretive(name) {
			name = "?"
		}
		list = append(list, name)
	}
	return list
}
