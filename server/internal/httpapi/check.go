package httpapi

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// errEnough ends a check that has found as much as an answer lists.
var errEnough = errors.New("httpapi: no more errors are listed")

// CheckItems returns what is wrong with the items of a list, in order, by their rules and by check.
// The items are checked in turns of the context. The check ends once it has found as much as an
// answer lists, and with a [turn.ErrUnfinished] when the context ends.
func CheckItems[T any](ctx context.Context, list string, items []T, rules Rules, check func(*T) error) error {
	var found fault.FieldErrors
	err := turn.Each(ctx, len(items), func(i int) error {
		if found.Full() {
			return errEnough
		}
		found.Merge(Located(list+"["+strconv.Itoa(i)+"]", checkWhole(rules, &items[i], check)))
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return found.Err()
}

// InOneTurn runs a check in a turn of the caller. The check must not read from the store.
func InOneTurn[S, In any](check func(S, *Call, *In) error) func(S, *Call, *In) error {
	return func(s S, c *Call, in *In) error {
		return turn.Each(c.Context(), 1, func(int) error { return check(s, c, in) })
	}
}

// checkRest adds to found what the route's check finds. The error is a [turn.ErrUnfinished].
func (c *Call) checkRest(in any, found *fault.FieldErrors) error {
	if c.route.check == nil {
		return nil
	}
	err := c.route.check(c, in)
	if errors.Is(err, turn.ErrUnfinished) {
		return err
	}
	found.Merge(err)
	return nil
}

// checkWhole says all that is wrong with an item.
func checkWhole[T any](rules Rules, item *T, check func(*T) error) error {
	var found fault.FieldErrors
	found.Merge(CheckRules(rules, reflect.ValueOf(*item)))
	found.Merge(check(item))
	return found.Err()
}

// Within reports whether all that is wrong with a request is within items of one of
// its lists, which is the body itself if it has no name. Then the others are served.
func Within(err error, list string) bool {
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

// Item reads one item of a list, and says everything that is wrong with it.
func (r *Reading) Item(s *Shape, document []byte, into any) error {
	if err := r.read(s, document, into); err != nil {
		return err
	}
	return r.Found.Err()
}

// Located gives the bad fields of an item the path that the client wrote.
func Located(at string, err error) error {
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
