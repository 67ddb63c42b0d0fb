package push

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/fault"
)

// maxReason is how long a reason may be, in bytes.
const maxReason = 300

// complaint names the fields that are wrong and the rules that they break. A field that
// the receiver has named itself is left out: it may hold anything.
func complaint(fields []fault.FieldError, result any) string {
	known := map[string]bool{"body": true}
	learn(reflect.TypeOf(result), known)
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = place(f.Field, known) + " (" + f.Constraint + ")"
	}
	return strings.Join(list, ", ")
}

// learn adds the names that the fields of a result have.
func learn(t reflect.Type, known map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			known[name] = true
			learn(f.Type, known)
		}
	}
}

// place is where something is wrong, as far as the names on the way are known.
func place(path string, known map[string]bool) string {
	steps := strings.Split(path, ".")
	for i, step := range steps {
		if name, _, _ := strings.Cut(step, "["); !known[name] {
			steps = steps[:i]
			break
		}
	}
	if len(steps) == 0 {
		return "a field"
	}
	return strings.Join(steps, ".")
}

// cut shortens a text to that many bytes at most, between two characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
