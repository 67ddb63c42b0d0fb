package fault

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// FieldError is one bad field of a request (spec 001, Validation Errors).
type FieldError struct {
	Field      string `json:"field"`
	Value      any    `json:"value,omitempty"`
	Constraint string `json:"constraint"`
	Message    string `json:"message"`

	// Safe says that Value may be repeated to the caller as it is. Without it
	// only numbers, booleans and short text that resembles no secret are.
	Safe bool `json:"-"`
}

// Validation returns a VALIDATION_ERROR that names every bad field, so that a
// caller can mend them all before coming back.
func Validation(fields ...FieldError) *Error {
	errs := make([]FieldError, len(fields))
	for i, f := range fields {
		if !f.Safe && !repeatable(f.Field, f.Value) {
			f.Value = nil
		}
		errs[i] = f
	}
	message := fmt.Sprintf("The request has %d invalid fields.", len(errs))
	if len(errs) == 1 {
		message = "The request has an invalid field."
	}
	e := New(CodeValidationError, "%s", message)
	e.Details = map[string]any{"errors": errs, "total_errors": len(errs)}
	return e
}

// Fields returns the bad fields of a VALIDATION_ERROR, also of a decoded one,
// and nothing for other errors.
func (e *Error) Fields() []FieldError {
	switch errs := e.Details["errors"].(type) {
	case []FieldError:
		return errs
	case []any:
		data, err := json.Marshal(errs)
		if err != nil {
			return nil
		}
		var fields []FieldError
		if json.Unmarshal(data, &fields) != nil {
			return nil
		}
		return fields
	}
	return nil
}

// The longest text that is repeated, and the longest run of letters and digits
// in it that is still taken for a word and not for a key.
const (
	maxRepeated = 64
	maxWord     = 20
)

func repeatable(field string, value any) bool {
	if secretName(field) {
		return false
	}
	switch v := value.(type) {
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64:
		return true
	case string:
		return len(v) <= maxRepeated && plain(v)
	}
	return false
}

// secretName is true for fields that hold secrets whatever their value is.
func secretName(field string) bool {
	field = strings.ToLower(field)
	for _, word := range []string{"pass", "secret", "token", "key", "auth", "credential", "cookie", "session", "signature", "ssn", "pin", "card", "cvv", "iban"} {
		if strings.Contains(field, word) {
			return true
		}
	}
	return false
}

// plain refuses control characters, credentials in a URL and whatever has the
// look of a key: a long run of letters with digits among them.
func plain(s string) bool {
	if strings.Contains(s, "://") && strings.Contains(s, "@") {
		return false
	}
	run, digits, letters := 0, false, false
	for _, c := range s {
		switch {
		case !unicode.IsPrint(c):
			return false
		case c >= '0' && c <= '9':
			run, digits = run+1, true
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', strings.ContainsRune("+/=_", c):
			run, letters = run+1, true
		default:
			run, digits, letters = 0, false, false
		}
		if run > maxWord && digits && letters {
			return false
		}
	}
	return true
}
