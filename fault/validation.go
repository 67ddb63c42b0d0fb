package fault

import (
	"encoding/json"
	"fmt"
)

// FieldError is one bad field of a request (spec 001, Validation Errors).
type FieldError struct {
	Field      string `json:"field"`
	Value      any    `json:"value,omitempty"`
	Constraint string `json:"constraint"`
	Message    string `json:"message"`

	// Safe says that Value may be repeated to the caller and to logs. Without it
	// the value is left out: no look at it can tell a secret for certain.
	Safe bool `json:"-"`
}

// Validation returns a VALIDATION_ERROR that names every bad field, so that a
// caller can mend them all before coming back.
func Validation(fields ...FieldError) *Error {
	errs := make([]FieldError, len(fields))
	for i, f := range fields {
		if !f.Safe {
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
