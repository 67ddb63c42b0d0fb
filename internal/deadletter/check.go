package deadletter

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/redact"
)

// The bounds of what callers send.
const (
	MaxBatch      = engine.MaxBatch
	MaxStack      = 64 << 10  // bytes of a stack as it is sent
	maxKeptStack  = 16 << 10  // and as it is kept: its beginning, which is where it broke
	MaxPayload    = 256 << 10 // bytes of a payload
	MaxCheckpoint = 1 << 20   // bytes of the output of a stage
	maxText       = 4000      // bytes of a note, or of what was done
)

// fields collects what is wrong with a request, all of it.
type fields struct{ list []fault.FieldError }

func (f *fields) add(field, constraint, format string, args ...any) {
	f.list = append(f.list, fault.FieldError{Field: field, Constraint: constraint, Message: fmt.Sprintf(format, args...)})
}

// err returns what was collected, or nil.
func (f *fields) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return fault.Validation(f.list...)
}

// require complains about what is missing and reports whether it is there.
func (f *fields) require(field string, there bool) bool {
	if !there {
		f.add(field, "required", "%s is required", field)
	}
	return there
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$`)

// name checks the name of a pipeline or a stage.
func (f *fields) name(field, s string) {
	if !f.require(field, s != "") {
		return
	}
	if !namePattern.MatchString(s) {
		f.add(field, "pattern", "%s must be a name: letters, digits and _.:- are, 64 at most", field)
		return
	}
	f.identifier(field, s)
}

// identifier checks what identifies something, and may be empty.
func (f *fields) identifier(field, s string) {
	var bad *fault.Error
	if errors.As(engine.CheckIdentifier(field, s), &bad) {
		f.list = append(f.list, bad.Fields()...)
	}
}

// link checks where a ticket or an incident is kept: its name, or its address.
func (f *fields) link(s string) {
	f.identifier("link", s)
	if !redact.WebAddress(s) {
		f.add("link", "scheme", "link must begin with https:// or http://, or be the name of a ticket such as OPS-17")
	}
}

// folded checks a name that is kept in another form than it came in.
func (f *fields) folded(field, sent, kept string) {
	var bad *fault.Error
	if errors.As(engine.CheckFolded(field, sent, kept), &bad) {
		f.list = append(f.list, bad.Fields()...)
	}
}

// text checks and cleans free text, which may be empty.
func (f *fields) text(field, s string, limit int) string {
	switch {
	case len(s) > limit:
		f.add(field, "max_length", "%s may have %d bytes, not %d", field, limit, len(s))
	case !utf8.ValidString(s):
		f.add(field, "utf8", "%s must be valid UTF-8", field)
	case strings.ContainsRune(s, 0):
		f.add(field, "printable", "%s must not contain NUL", field)
	default:
		s, _ = redact.Default().String(s)
		return strings.TrimSpace(s)
	}
	return ""
}

// needed is text that must not be empty.
func (f *fields) needed(field, s string) string {
	f.require(field, strings.TrimSpace(s) != "")
	return f.text(field, s, maxText)
}

// CheckReason says what is wrong with a reason that must be given.
func CheckReason(reason string) error {
	var f fields
	f.needed("reason", reason)
	return f.err()
}

// cut shortens text to a number of bytes, at the end of a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
