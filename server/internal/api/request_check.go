package api

import (
	"context"
	"errors"
	"reflect"
	"strconv"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// errEnough ends a check that has found as much as an answer lists.
var errEnough = errors.New("api: no more errors are listed")

// eachItem returns what is wrong with the items of a list, in order, by their rules and by check.
// The items are checked in turns of the context. The check ends once it has found as much as an
// answer lists, and with a [turn.ErrUnfinished] when the context ends.
func eachItem[T any](ctx context.Context, list string, items []T, rules rules, check func(*T) error) error {
	var found fault.FieldErrors
	err := turn.Each(ctx, len(items), func(i int) error {
		if found.Full() {
			return errEnough
		}
		found.Merge(located(list+"["+strconv.Itoa(i)+"]", checkWhole(rules, &items[i], check)))
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return found.Err()
}

// inOneTurn runs a check in a turn of the caller. The check must not read from the store.
func inOneTurn[S, In any](check func(S, *call, *In) error) func(S, *call, *In) error {
	return func(s S, c *call, in *In) error {
		return turn.Each(c.Context(), 1, func(int) error { return check(s, c, in) })
	}
}

// checkRest adds to found what the route's check finds. The error is a [turn.ErrUnfinished].
func (c *call) checkRest(in any, found *fault.FieldErrors) error {
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
func checkWhole[T any](rules rules, item *T, check func(*T) error) error {
	var found fault.FieldErrors
	found.Merge(checkRules(rules, reflect.ValueOf(*item)))
	found.Merge(check(item))
	return found.Err()
}
