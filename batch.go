package recoup

import "encoding/json"

// Item is the answer to one item of a batch: a result, or a failure.
type Item[T any] struct {
	Result  *T              `json:"result,omitempty" doc:"what became of the item; none: it failed"`
	Failure json.RawMessage `json:"failure,omitempty" doc:"an error of the usual shape"`
}
