package client

import (
	"encoding/json"
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Item is the answer to one item of a batch: a result, or a failure, which [Item.Get] decodes.
type Item[T any] struct {
	Result  *T // nil: it failed
	Failure json.RawMessage
}

// Get returns what became of one item of a batch. The error is a *fault.Error.
func (i Item[T]) Get() (T, error) {
	switch {
	case i.Result != nil:
		return *i.Result, nil
	case len(i.Failure) == 0:
		return *new(T), fault.New(fault.CodeSchemaInvalid, "The server's answer says nothing of this item.")
	}
	failure := new(fault.Error)
	if err := json.Unmarshal(i.Failure, failure); err != nil {
		return *new(T), fault.Wrap(err, fault.CodeSchemaInvalid, "The server's answer about this item cannot be read.")
	}
	return *new(T), failure
}

// itemsOf makes sure that every item of a batch was answered.
func itemsOf[T any](answers []recoup.Item[T], want int) ([]Item[T], error) {
	if len(answers) != want {
		return nil, fault.Wrap(fmt.Errorf("%d answers to %d items", len(answers), want),
			fault.CodeSchemaInvalid, "The server did not answer every item of the batch.")
	}
	items := make([]Item[T], len(answers))
	for i, a := range answers {
		items[i] = Item[T](a)
	}
	return items, nil
}
