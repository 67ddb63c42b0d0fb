package recoup

import (
	"fmt"
	"unicode/utf8"
)

// MaxCodeLength is the longest a code may be, in bytes.
const MaxCodeLength = 64

// Code names a kind of failure in UPPER_SNAKE_CASE: RATE_LIMIT_EXCEEDED.
// A Code that came from [ParseCode] is well formed; whether it is registered
// is a question for the registry in package fault.
type Code string

// ParseCode folds s to upper case and checks its form. It resolves no alias:
// the registry does that.
func ParseCode(s string) (Code, error) {
	if s == "" {
		return "", fmt.Errorf("code is empty: expected UPPER_SNAKE_CASE such as NETWORK_TIMEOUT")
	}
	if len(s) > MaxCodeLength {
		return "", fmt.Errorf("code has %d characters: at most %d are allowed", len(s), MaxCodeLength)
	}
	folded := true
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
		case c >= 'a' && c <= 'z':
			folded = false
		case i > 0 && (c == '_' || c >= '0' && c <= '9'):
		default: // all before it is ASCII, so the position is that of a character
			r, _ := utf8.DecodeRuneInString(s[i:])
			return "", fmt.Errorf("code has the character %q at position %d: expected letters, digits and _, beginning with a letter", r, i+1)
		}
	}
	if folded {
		return Code(s), nil
	}
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - ('a' - 'A')
		}
	}
	return Code(b), nil
}

// Class says whether a failure is retryable, and how soon (spec 001, Error
// Classification).
type Class string

// The classes of spec 001.
const (
	ClassImmediate   Class = "immediate"   // retryable at once
	ClassShortDelay  Class = "short_delay" // retryable after 1 to 5 minutes
	ClassLongDelay   Class = "long_delay"  // retryable after 15 minutes or more
	ClassFatal       Class = "fatal"       // will not succeed until something is changed
	ClassConditional Class = "conditional" // retryable only where its condition is proven
)

// Classes lists every class, most hopeful first.
func Classes() []Class {
	return []Class{ClassImmediate, ClassShortDelay, ClassLongDelay, ClassConditional, ClassFatal}
}

// Valid reports whether c is one of the classes of spec 001.
func (c Class) Valid() bool {
	switch c {
	case ClassImmediate, ClassShortDelay, ClassLongDelay, ClassFatal, ClassConditional:
		return true
	}
	return false
}

// Condition names what must be proven before a conditional code may be retried.
type Condition string

// The conditions that conditional codes name.
const (
	ConditionNone           Condition = ""
	ConditionIdempotencyKey Condition = "idempotency_key" // the operation carries an idempotency key, or is idempotent by nature
	ConditionSamePayload    Condition = "same_payload"    // the earlier request with this key had the same payload
	ConditionStateChanged   Condition = "state_changed"   // the obstacle may be gone: a slot freed, a queue drained
)

// Category decides the retry budget of a governed error (spec 000, 5.1).
type Category string

// The categories of spec 000.
const (
	Transient   Category = "TRANSIENT"
	Operational Category = "OPERATIONAL"
	Structural  Category = "STRUCTURAL"
)

// Categories lists every category in the order of spec 000.
func Categories() []Category { return []Category{Transient, Operational, Structural} }

// Valid reports whether c is one of the categories of spec 000.
func (c Category) Valid() bool { return c == Transient || c == Operational || c == Structural }

// Severity of a failure (spec 000, 8). The empty severity is neutral, as
// MEDIUM is.
type Severity string

// The severities of spec 000.
const (
	SeverityNone Severity = ""
	Critical     Severity = "CRITICAL"
	High         Severity = "HIGH"
	Medium       Severity = "MEDIUM"
	Low          Severity = "LOW"
)

// Severities lists every named severity, worst first.
func Severities() []Severity { return []Severity{Critical, High, Medium, Low} }

// Valid reports whether s is a severity of spec 000, or none.
func (s Severity) Valid() bool {
	switch s {
	case SeverityNone, Critical, High, Medium, Low:
		return true
	}
	return false
}

// Rank orders severities: the worse, the larger. None ranks with MEDIUM.
func (s Severity) Rank() int {
	switch s {
	case Critical:
		return 4
	case High:
		return 3
	case Low:
		return 1
	}
	return 2
}
