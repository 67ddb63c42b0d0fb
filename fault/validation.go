package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// FieldError is one bad field of a request (spec 001, Validation Errors).
type FieldError struct {
	Field      string `json:"field"` // its path, as the client wrote it: events[3].ts
	Value      any    `json:"value,omitempty"`
	Constraint string `json:"constraint"`
	Message    string `json:"message"`

	// Safe says that Value may be repeated to the caller and to logs. Without it
	// the value is left out, because a secret cannot be recognised for certain.
	Safe bool `json:"-"`
}

// MaxFieldErrors is how many bad fields an answer lists. It counts all of them.
const MaxFieldErrors = 50

// FieldErrors collects what is wrong with a request, so that a caller can fix it all
// at once. It keeps [MaxFieldErrors] and counts the rest. The zero value is ready to
// use.
type FieldErrors struct {
	list  []FieldError
	total int
}

// Add adds a bad field.
func (f *FieldErrors) Add(bad FieldError) {
	f.total++
	if !f.Full() {
		if !bad.Safe {
			bad.Value = nil
		}
		f.list = append(f.list, bad)
	}
}

// AddUnlisted counts a bad field that the answer does not list.
func (f *FieldErrors) AddUnlisted() { f.total++ }

// Addf adds a bad field whose value is not repeated.
func (f *FieldErrors) Addf(field, constraint, format string, args ...any) {
	f.Add(FieldError{Field: field, Constraint: constraint, Message: fmt.Sprintf(format, args...)})
}

// Merge adds the bad fields of a VALIDATION_ERROR, except those that are listed
// already or lie within a listed field. It reports whether err is a VALIDATION_ERROR.
func (f *FieldErrors) Merge(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != CodeValidationError {
		return false
	}
	known := FieldErrors{list: f.list}
	for _, bad := range e.Fields() {
		if bad.Safe = true; !known.has(bad.Field) { // an answer has only safe values left
			f.Add(bad)
		}
	}
	return true
}

// has reports whether a field, or one that it is within, is listed.
func (f *FieldErrors) has(field string) bool {
	for _, bad := range f.list {
		rest, ok := strings.CutPrefix(field, bad.Field)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Full reports whether no more are listed, only counted.
func (f *FieldErrors) Full() bool { return len(f.list) == MaxFieldErrors }

// Len is how many bad fields were added.
func (f *FieldErrors) Len() int { return f.total }

// Err returns the VALIDATION_ERROR that names the bad fields; nil if there are none.
func (f *FieldErrors) Err() error {
	if f.total == 0 {
		return nil
	}
	return f.fault()
}

func (f *FieldErrors) fault() *Error {
	message := fmt.Sprintf("The request has %d invalid fields.", f.total)
	switch {
	case f.total == 1:
		message = "The request has an invalid field."
	case f.total > len(f.list):
		message = fmt.Sprintf("The request has %d invalid fields; the first %d are listed.", f.total, len(f.list))
	}
	e := New(CodeValidationError, "%s", message)
	e.Details = map[string]any{"errors": f.list, "total_errors": f.total}
	return e
}

// Validation returns a VALIDATION_ERROR that names every bad field, as
// [FieldErrors] does.
func Validation(fields ...FieldError) *Error {
	all := FieldErrors{list: make([]FieldError, 0, min(len(fields), MaxFieldErrors))}
	for _, bad := range fields {
		all.Add(bad)
	}
	return all.fault()
}

// BadField returns a VALIDATION_ERROR that names one field, whose value is not repeated.
func BadField(field, constraint, format string, args ...any) *Error {
	var bad FieldErrors
	bad.Addf(field, constraint, format, args...)
	return bad.fault()
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
