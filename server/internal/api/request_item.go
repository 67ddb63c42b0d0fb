package api

import (
	"errors"
	"strings"

	"github.com/recoup-dev/recoup/fault"
)

// within reports whether all that is wrong with a request is within items of one of
// its lists, which is the body itself if it has no name. Then the others are served.
func within(err error, list string) bool {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.CodeValidationError || len(e.Fields()) == 0 {
		return false
	}
	for _, bad := range e.Fields() {
		if !strings.HasPrefix(bad.Field, list+"[") {
			return false
		}
	}
	return true
}

// item reads one item of a list, and says everything that is wrong with it.
func (r *reading) item(s *shape, document []byte, into any) error {
	if err := r.read(s, document, into); err != nil {
		return err
	}
	return r.found.Err()
}

// located gives the bad fields of an item the path that the client wrote.
func located(at string, err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || at == "" || e.Code != fault.CodeValidationError {
		return err
	}
	var found fault.FieldErrors
	for _, bad := range e.Fields() {
		if !strings.HasPrefix(bad.Field, at) {
			bad.Field = at + "." + bad.Field
		}
		bad.Safe = true // an answer has only safe values left
		found.Add(bad)
	}
	if total, ok := e.Details["total_errors"].(int); ok {
		for found.Len() < total {
			found.AddUnlisted()
		}
	}
	return found.Err()
}
