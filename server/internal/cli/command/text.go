package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/recoup-dev/recoup"
)

// Printable replaces what is not seen: control characters, and those that change
// the direction of what follows.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, s)
}

// Count writes a number with its noun: 1 problem, 2 problems.
func Count[N ~int | ~int64](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	case strings.HasSuffix(noun, "ry"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Words turns park_reason into "park reason".
func Words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Capital writes a sentence's first letter in upper case.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Yes writes nothing for false.
func Yes(b bool) string {
	if !b {
		return ""
	}
	return "yes"
}

// ID writes nothing for no id.
func ID(i recoup.ID) string {
	if i.IsZero() {
		return ""
	}
	return i.String()
}

// Number writes nothing for zero.
func Number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// shownIDs is how many ids people are shown of each kind.
const shownIDs = 3

// SomeIDs writes the first ids of n.
func SomeIDs(ids []recoup.ID, n int) string {
	shown := make([]string, min(len(ids), shownIDs))
	for i := range shown {
		shown[i] = ids[i].String()
	}
	text := strings.Join(shown, " ")
	if rest := n - len(shown); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// PrintJSON writes a value for scripts.
func PrintJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(EscapeJSON(b.Bytes()))
	return err
}
