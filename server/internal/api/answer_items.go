package api

import (
	"context"
	"encoding/json"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// answerItems is [httpapi.Items] with the items that clients read.
func answerItems[S, O, T any](c *httpapi.Call, n int, step func(i int) (S, error),
	verb func(context.Context, []S) ([]O, error), result func(i int, o *O) (*T, error),
) ([]recoup.Item[T], error) {
	return httpapi.Items(c, n, step, verb, result, func(out *T, failure json.RawMessage) recoup.Item[T] {
		return recoup.Item[T]{Result: out, Failure: failure}
	})
}
