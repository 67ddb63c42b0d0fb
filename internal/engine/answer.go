package engine

import (
	"encoding/json"
	"fmt"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// answer is what a receipt keeps of an outcome, so that a request that is sent
// again is answered as it was the first time.
type answer struct {
	Error      recoup.Error      `json:"error"`
	Superseded recoup.ID         `json:"superseded,omitzero"`
	Warning    lifecycle.Warning `json:"warning,omitempty"`
	Event      recoup.Code       `json:"event,omitempty"`
}

// receipt completes what a caller asked for with how an outcome is written down.
func receipt(r *store.Receipt) *store.Receipt {
	if r == nil {
		return nil
	}
	complete := *r
	complete.Answer = func(o store.Outcome) []byte {
		kept := answer{Error: o.Error, Warning: o.Effects.Warning, Event: o.Effects.Event}
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

// recall reads the answer of a repeated request. Its event is told once more,
// because the first time may have ended before the ledger had it: it has the same
// id and time.
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
	o.Error, o.Effects.Warning, o.Effects.Event = kept.Error, kept.Warning, kept.Event
	return kept.Superseded, nil
}
