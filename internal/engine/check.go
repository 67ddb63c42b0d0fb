package engine

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"recoup/fault"
	"recoup/internal/redact"
)

// The bounds of what callers send.
const (
	MaxIdentifier = 200  // bytes of an entity, a table, a worker, a phase
	MaxReason     = 1000 // bytes of a reason
	MaxMessage    = 8192 // bytes of a message
)

// fields collects what is wrong with a request, all of it.
type fields struct {
	list     []fault.FieldError
	redactor *redact.Redactor
}

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

// identifier checks the name of something. It must identify, so it is refused
// rather than cleaned; the answer never repeats it.
func (f *fields) identifier(field, s string, required bool) {
	if s == "" && required {
		f.add(field, "required", "%s is required", field)
		return
	}
	if bad := f.redactor.CheckIdentifier(s, MaxIdentifier); bad != nil {
		f.add(field, bad.Constraint, "%s %s", field, bad.Message)
	}
}

// text checks and cleans free text: what looks like a secret is replaced, what
// cannot be stored is refused.
func (f *fields) text(field, s string, limit int, required bool) string {
	switch {
	case strings.TrimSpace(s) == "" && required:
		f.add(field, "required", "%s is required", field)
	case len(s) > limit:
		f.add(field, "max_length", "%s may have %d bytes, not %d", field, limit, len(s))
	case !utf8.ValidString(s):
		f.add(field, "utf8", "%s must be valid UTF-8", field)
	case strings.ContainsRune(s, 0):
		f.add(field, "printable", "%s must not contain NUL", field)
	default:
		s, _ = f.redactor.String(s)
		return s
	}
	return ""
}

// CheckIdentifier checks the name of something that may be empty, as the names in
// a report are checked.
func CheckIdentifier(field, s string) error {
	f := fields{redactor: redact.Default()}
	f.identifier(field, s, false)
	return f.err()
}

// CheckFolded checks a name that is kept in another form than it came in: neither
// may be a secret.
func CheckFolded(field, sent, kept string) error {
	f := fields{redactor: redact.Default()}
	f.folded(field, sent, kept)
	return f.err()
}

func (f *fields) folded(field, sent, kept string) {
	before := len(f.list)
	if f.identifier(field, sent, true); len(f.list) == before && kept != sent {
		f.identifier(field, kept, true)
	}
}

// CheckReason checks the reason of an administrative act, which must not hold a
// secret: it goes into the audit as it is.
func CheckReason(s string) error {
	f := fields{redactor: redact.Default()}
	if clean := f.text("reason", s, MaxReason, false); clean != s && len(f.list) == 0 {
		f.add("reason", "no_secret", "reason looks like it holds a secret")
	}
	return f.err()
}
