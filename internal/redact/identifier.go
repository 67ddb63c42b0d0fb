package redact

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Refusal says why a text cannot identify something. Its message goes on from the
// name of the field and repeats nothing of the text.
type Refusal struct{ Constraint, Message string }

// NoSecret is the constraint of a text that is refused because it looks like a
// secret.
const NoSecret = "no_secret"

// CheckIdentifier holds a text to what may identify something: it can be stored,
// shown and searched for, looks like what it is, and is no secret. Every place that
// takes an identifier asks here; nil says that it may be one. Where a text is kept
// in another form than it came in, as codes are, both forms are asked about.
func (r *Redactor) CheckIdentifier(s string, limit int) *Refusal {
	if len(s) > limit {
		return &Refusal{"max_length", fmt.Sprintf("may have %d bytes, not %d", limit, len(s))}
	}
	if refusal := illegible(s); refusal != nil {
		return refusal
	}
	if secret, ok := errors.AsType[*SecretError](r.Identifier(s)); ok {
		return &Refusal{NoSecret, fmt.Sprintf("looks like a secret or personal data (rule %s); send a name that is none", secret.Rule)}
	}
	return nil
}

// illegible says what makes a text look like another one, or like nothing.
func illegible(s string) *Refusal {
	if !utf8.ValidString(s) {
		return &Refusal{"utf8", "must be valid UTF-8"}
	}
	for _, c := range s {
		switch {
		case c < utf8.RuneSelf && c >= ' ' && c != 0x7f:
		case unicode.IsControl(c) || c == '\u2028' || c == '\u2029':
			return &Refusal{"printable", "must not contain control characters"}
		case c == utf8.RuneError: // what a decoder makes of half a surrogate pair
			return &Refusal{"printable", "must not contain half of a surrogate pair or the replacement character U+FFFD"}
		case unicode.Is(unicode.Zs, c):
			return &Refusal{"visible", fmt.Sprintf("must not contain the space %U; use U+0020", c)}
		case Invisible(c) || unicode.Is(unicode.Cf, c):
			return &Refusal{"visible", fmt.Sprintf("must not contain %U, which is invisible or changes the direction of text; remove it", c)}
		case !unicode.IsGraphic(c):
			return &Refusal{"visible", fmt.Sprintf("must not contain %U, which is for private use or no character; remove it", c)}
		}
	}
	if s != strings.TrimSpace(s) {
		return &Refusal{"trimmed", "must not begin or end with a space"}
	}
	return nil
}

// WebAddress reports whether an identifier may be shown as a link: it has no scheme, or
// that of the web. A link of another may be a program (javascript:).
func WebAddress(s string) bool {
	scheme, rest, found := strings.Cut(s, ":")
	switch {
	case strings.HasPrefix(s, "//") || strings.HasPrefix(s, `\\`):
		return false
	case !found || strings.ContainsAny(scheme, "/?#"):
		return true // linkedin.com/company/example
	}
	return (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")) && strings.HasPrefix(rest, "//")
}
