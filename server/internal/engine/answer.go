package engine

import (
	"encoding/json"
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// answer is what a receipt keeps of an outcome, so that a request that is sent
// again is answered as it was the first time.
type answer struct {
	Error      recoup.Error      `json:"error"`
	Superseded recoup.ID         `json:"superseded,omitzero"`
	Warning    lifecycle.Warning `json:"warning,omitempty"`
}

// receipt completes what a caller asked for with how an outcome is written down.
func receipt(r *store.Receipt) *store.Receipt {
	if r == nil {
		return nil
	}
	complete := *r
	complete.Answer = func(o store.Outcome) []byte {
		kept := answer{Error: o.Error, Warning: o.Effects.Warning}
		if s := o.Effects.Superseded; s != nil {
			kept.Superseded = s.Error.ID
		}
		return encode(kept)
	}
	return &complete
}

// encode writes an answer down. All that answers hold is text, numbers and times.
func encode(answer any) []byte {
	b, err := json.Marshal(answer)
	if err != nil {
		panic("engine: an answer is not JSON: " + err.Error())
	}
	return b
}

// recall reads the answer of a repeated request.
func recall(o *store.Outcome) (superseded recoup.ID, err error) {
	if s := o.Effects.Superseded; s != nil {
		return s.Error.ID, nil
	}
	if !o.Repeated {
		return recoup.ID{}, nil
	}
	var kept answer
	if err := json.Unmarshal(o.Answer, &kept); err != nil {
		return recoup.ID{}, fmt.Errorf("the answer of a repeated request cannot be read: %w", err)
	}
	o.Error, o.Effects.Warning = kept.Error, kept.Warning
	return kept.Superseded, nil
}
