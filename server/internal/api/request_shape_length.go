package api

import (
	"reflect"

	"github.com/recoup-dev/recoup/fault"
)

// The bounds of what states none. A value of JSON costs a few bytes to send and
// a hundred to keep, so it is counted before it is decoded.
const (
	maxItems = 10_000  // of a list, or members of an object of any names
	maxFree  = 200_000 // values of no stated shape in a document
)

// count refuses a list, or an object of any names, as soon as it has more items
// than it may: n is how many have begun.
func (e *examiner) count(s *shape, depth, n int) error {
	most := maxItems
	if s.length.utmost != nil {
		most = *s.length.utmost
	}
	switch {
	case n > most && s.tooMany != nil:
		return s.tooMany()
	case n > most:
		field := e.where(depth)
		return fault.BadField(field, "items", "%s must have %s items", field, between(s.length.fewest, &most))
	}
	if s.items == nil || s.items.free() {
		if e.free++; e.free > maxFree {
			return fault.BadField("body", "items", "the body must have at most %d values in lists and details", maxFree)
		}
	}
	return nil
}

// free reports whether a shape takes whatever is JSON.
func (s *shape) free() bool {
	return s.form == whole && (s.leaf == nil || s.leaf.Kind() == reflect.Interface)
}
