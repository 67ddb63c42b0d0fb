// Package check finds what is wrong with what callers send: all of it at once, by the
// same rules and in the same words wherever it is sent.
package check

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
)

// The bounds of what callers send, in bytes.
const (
	MaxIdentifier = 200  // of an entity, a table, a worker, a phase
	MaxReason     = 1000 // of a reason
)

// Fields collects what is wrong with the fields of a request. The zero value goes by the
// default rules for secrets.
type Fields struct {
	fault.FieldErrors
	Redactor *redact.Redactor
	Redacted redact.Evidence // in texts
}

func (f *Fields) redactor() *redact.Redactor {
	if f.Redactor == nil {
		return redact.Default()
	}
	return f.Redactor
}

// Require complains about what is missing and reports whether it is there.
func (f *Fields) Require(field string, there bool) bool {
	if !there {
		f.Addf(field, "required", "%s is required", field)
	}
	return there
}

// Plain checks a value that is stored as it is or not at all: it identifies something,
// so it is refused rather than cleaned, and the answer never repeats it. It may be empty.
func (f *Fields) Plain(field, s string, limit int) {
	if bad := f.redactor().CheckIdentifier(s, limit); bad != nil {
		f.Addf(field, bad.Constraint, "%s %s", field, bad.Message)
	} else if Normalized(s) != s {
		f.Addf(field, "nfc", "%s must be in the composed form of Unicode, NFC; it would be mistaken for its twin in that form", field)
	}
}

// Identifier checks the name of something, which may be empty.
func (f *Fields) Identifier(field, s string) { f.Plain(field, s, MaxIdentifier) }

// RequiredIdentifier checks the name of something.
func (f *Fields) RequiredIdentifier(field, s string) {
	if f.Require(field, s != "") {
		f.Identifier(field, s)
	}
}

// Folded checks a name that is kept in another form than it came in: neither may be a
// secret.
func (f *Fields) Folded(field, sent, kept string) {
	before := f.Len()
	if f.RequiredIdentifier(field, sent); f.Len() == before && kept != sent {
		f.RequiredIdentifier(field, kept)
	}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$`)

// Name checks the name of a pipeline or a stage.
func (f *Fields) Name(field, s string) {
	switch {
	case !f.Require(field, s != ""):
	case !namePattern.MatchString(s):
		f.Addf(field, "pattern", "%s must be a name: letters, digits and _.:- are, 64 at most", field)
	default:
		f.Identifier(field, s)
	}
}

// Link checks where a ticket or an incident is kept: its name, or its address.
func (f *Fields) Link(field, s string) {
	f.Identifier(field, s)
	if !redact.WebAddress(s) {
		f.Addf(field, "scheme", "%s must begin with https:// or http://, or be the name of a ticket such as OPS-17", field)
	}
}

// Text checks and cleans free text, which may be empty: what looks like a secret is
// replaced, what cannot be stored is refused.
func (f *Fields) Text(field, s string, limit int) string {
	switch {
	case len(s) > limit:
		f.Addf(field, "max_length", "%s may have %d bytes, not %d", field, limit, len(s))
	case !utf8.ValidString(s):
		f.Addf(field, "utf8", "%s must be valid UTF-8", field)
	case strings.ContainsRune(s, 0):
		f.Addf(field, "printable", "%s must not contain NUL", field)
	default:
		s, found := f.redactor().String(s)
		f.Redacted.Merge(found)
		return s
	}
	return ""
}

// RequiredText is text that must not be blank.
func (f *Fields) RequiredText(field, s string, limit int) string {
	if !f.Require(field, strings.TrimSpace(s) != "") {
		return ""
	}
	return f.Text(field, s, limit)
}

// Identifier says what is wrong with the name of something that may be empty.
func Identifier(field, s string) error {
	var f Fields
	f.Identifier(field, s)
	return f.Err()
}

// Reason says what is wrong with the reason of an administrative act. A secret in it is no
// reason to refuse the act: [Redacted] replaces it before the reason is stored.
func Reason(s string) error {
	var f Fields
	f.Text("reason", s, MaxReason)
	return f.Err()
}

// Redacted returns free text with its secrets replaced.
func Redacted(s string) string {
	clean, _ := redact.Default().String(s)
	return clean
}
