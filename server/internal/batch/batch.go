// Package batch serves many items in one call: what is wrong with one takes nothing
// from the others, and every answer stands where its item stood.
package batch

import (
	"context"
	"errors"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// Part is items that go on together, with their places among all of a call.
type Part[S any] struct {
	steps  []S
	places []int
}

// Add adds what an item was made into.
func (p *Part[S]) Add(place int, step S) {
	p.steps, p.places = append(p.steps, step), append(p.places, place)
}

// Do hands the items of a part to a verb, and each outcome to take with the place
// that it belongs to. Without items nothing is called.
func Do[S, O any](ctx context.Context, p *Part[S], verb func(context.Context, []S) ([]O, error), take func(place int, o *O) error) error {
	if len(p.steps) == 0 {
		return nil
	}
	outcomes, err := verb(ctx, p.steps)
	if err != nil {
		return err
	}
	for k := range outcomes {
		if err := take(p.places[k], &outcomes[k]); err != nil {
			return err
		}
	}
	return nil
}

// Each prepares each of n items in turns with other callers, hands those that could be prepared to a verb, in
// their order, and returns an answer for each item: made of its outcome, or of why it
// could not be prepared, and then the outcome is nil. An error of the verb, or of an
// answer, is one of the whole call.
func Each[S, O, A any](ctx context.Context, n int, step func(i int) (S, error),
	verb func(context.Context, []S) ([]O, error), answer func(i int, o *O, err error) (A, error),
) ([]A, error) {
	answers := make([]A, n)
	part := Part[S]{make([]S, 0, n), make([]int, 0, n)}
	err := turn.Each(ctx, n, func(i int) error {
		made, err := step(i)
		if err == nil {
			part.Add(i, made)
			return nil
		}
		answers[i], err = answer(i, nil, err)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = Do(ctx, &part, verb, func(i int, o *O) (err error) {
		answers[i], err = answer(i, o, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// Apart hands items to a verb. If the database refuses them, one is to blame: the
// halves are tried by themselves, in order, until that one stands alone with its
// refusal.
func Apart[S, O any](steps []S, verb func([]S) ([]O, error), refused func(error) O) ([]O, error) {
	outcomes, err := verb(steps)
	switch {
	case !errors.Is(err, store.ErrRefused) || len(steps) == 0:
		return outcomes, err
	case len(steps) == 1:
		return []O{refused(err)}, nil
	}
	half := len(steps) / 2
	first, err := Apart(steps[:half], verb, refused)
	if err != nil {
		return nil, err
	}
	second, err := Apart(steps[half:], verb, refused)
	return append(first, second...), err
}
