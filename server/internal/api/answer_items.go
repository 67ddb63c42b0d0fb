package api

import (
	"context"
	"reflect"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/batch"
)

// answerItems answers each of the n items of a request for itself: step makes of an
// item what the verb takes, and result of an outcome what is shown; an error of
// either is the item's own. An error of the verb is the request's.
func answerItems[S, O, T any](c *call, n int, step func(i int) (S, error),
	verb func(context.Context, []S) ([]O, error), result func(i int, o *O) (*T, error),
) ([]client.Item[T], error) {
	return batch.Each(c.Context(), n, step, verb, func(i int, o *O, err error) (client.Item[T], error) {
		var shown *T
		if err == nil {
			shown, err = result(i, o)
		}
		if err != nil {
			return client.Item[T]{Failure: c.embed(err)}, nil
		}
		return client.Item[T]{Result: shown}, nil
	})
}

// checkItemRules says all that is wrong with an item that breaks a rule; one that
// breaks none is checked by whoever takes it.
func checkItemRules[T any](rules rules, item *T, check func(*T) error) error {
	if checkRules(rules, reflect.ValueOf(*item)) == nil {
		return nil
	}
	return checkWhole(rules, item, check)
}
