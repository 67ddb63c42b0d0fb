package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

// Text that others wrote may steer the terminal it is printed on: move the cursor, hide or
// reverse what is next to it. Tables and pages leave such characters out ([Printable]). What
// programs read keeps them as escapes: JSON and YAML of the same value, CSV as \u001b.

// appendEscaped appends a character as JSON writes it.
func appendEscaped(buf []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return fmt.Appendf(buf, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
	}
	return fmt.Appendf(buf, `\u%04x`, r)
}

// EscapeJSON escapes the characters of JSON that JSON allows and a terminal obeys. They are
// in strings, so that the value stays the same.
func EscapeJSON(data []byte) []byte {
	text := string(data)
	if !strings.ContainsFunc(text, stream.Steers) {
		return data
	}
	escaped := make([]byte, 0, len(data)+64)
	for _, r := range text {
		if stream.Steers(r) {
			escaped = appendEscaped(escaped, r)
		} else {
			escaped = append(escaped, string(r)...)
		}
	}
	return escaped
}

// toYAML writes JSON as YAML. Strings with characters that steer are in double quotes, with
// escapes that YAML shares with JSON: a name stands for each until the rest is written.
func toYAML(data []byte) ([]byte, error) {
	name := "recoup-escaped-"
	for strings.Contains(string(data), name) {
		name += "x-"
	}
	var kept []string
	for at := 0; at < len(data); at++ {
		if data[at] != '"' {
			continue
		}
		end := endOfString(data, at)
		var text string
		if err := json.Unmarshal(data[at:end], &text); err != nil {
			return nil, err
		}
		if strings.ContainsFunc(text, stream.Steers) || strings.Contains(text, "\t") {
			literal := strconv.Quote(fmt.Sprintf("%s%d-", name, len(kept)/2))
			kept = append(kept, strings.Trim(literal, `"`), string(EscapeJSON(data[at:end])))
			data = append(append(append([]byte{}, data[:at]...), literal...), data[end:]...)
			end = at + len(literal)
		}
		at = end - 1
	}
	out, err := yaml.JSONToYAML(data)
	if err != nil || len(kept) == 0 {
		return out, err
	}
	return []byte(strings.NewReplacer(kept...).Replace(string(out))), nil
}

// endOfString is where the string that begins at a quote ends.
func endOfString(data []byte, at int) int {
	for i := at + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// Inert writes a cell of CSV. It puts an apostrophe before one that a spreadsheet would take
// for a formula and run, unless it is a negative number, and escapes characters that steer a terminal.
func Inert(cell string) string {
	if cell == "" {
		return ""
	}
	first, _ := utf8.DecodeRuneInString(cell)
	formula := strings.ContainsRune("=+-@\t\r＝＋－＠", first) // also in full width
	if _, err := strconv.ParseFloat(cell, 64); err == nil && cell[0] == '-' {
		formula = false
	}
	if strings.ContainsFunc(cell, stream.Steers) {
		cell = string(EscapeJSON([]byte(cell)))
	}
	if formula {
		return "'" + cell
	}
	return cell
}

// seen leaves out what steers from the texts of a line that is printed for people.
func seen(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			args[i] = stream.Visible(v)
		case error:
			args[i] = stream.Visible(v.Error())
		}
	}
	return args
}
