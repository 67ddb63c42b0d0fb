package client

import (
	"encoding/json"
	"fmt"

	"github.com/recoup-dev/recoup/fault"
)

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

// checkCount makes sure that every item of a batch was answered.
func checkCount[T any](items []Item[T], want int) ([]Item[T], error) {
	if len(items) == want {
		return items, nil
	}
	return nil, fault.Wrap(fmt.Errorf("%d answers to %d items", len(items), want),
		fault.CodeSchemaInvalid, "The server did not answer every item of the batch.")
}
