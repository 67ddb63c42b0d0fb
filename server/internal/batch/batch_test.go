package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/batch"
	"github.com/recoup-dev/recoup/server/internal/store"
)

var errOdd = errors.New("odd")

// even prepares even numbers only.
func even(i int) (int, error) {
	if i%2 == 1 {
		return 0, errOdd
	}
	return 10 * i, nil
}

func words(i int, o *string, err error) (string, error) {
	if err != nil {
		return fmt.Sprint(i, " is ", err), nil
	}
	return fmt.Sprint(i, " became ", *o), nil
}

// Answers stand where their items stood, and a bad item takes nothing from the others.
func TestEachKeepsPlaces(t *testing.T) {
	t.Parallel()
	var got []int
	answers, err := batch.Each(t.Context(), 5, even, func(_ context.Context, steps []int) ([]string, error) {
		got = steps
		out := make([]string, len(steps))
		for k, s := range steps {
			out[k] = fmt.Sprint(s)
		}
		return out, nil
	}, words)
	if err != nil || !slices.Equal(got, []int{0, 20, 40}) {
		t.Fatalf("the verb got %v, %v", got, err)
	}
	want := []string{"0 became 0", "1 is odd", "2 became 20", "3 is odd", "4 became 40"}
	if !slices.Equal(answers, want) {
		t.Errorf("answered %q, want %q", answers, want)
	}
}

// A verb is not called with nothing, and its failure is that of the whole call; so is
// an answer that cannot be given.
func TestEachFails(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	answers, err := batch.Each(t.Context(), 2, func(int) (int, error) { return 0, errOdd }, func(_ context.Context, _ []int) ([]string, error) { return nil, down }, words)
	if err != nil || len(answers) != 2 {
		t.Errorf("a verb was called with nothing: %v, %v", answers, err)
	}
	if answers, err = batch.Each(t.Context(), 2, even, func(_ context.Context, _ []int) ([]string, error) { return nil, down }, words); answers != nil || !errors.Is(err, down) {
		t.Errorf("answered %v, %v", answers, err)
	}
	for _, n := range []int{1, 2} { // an outcome, and an item that is not prepared
		failing := func(i int, _ *string, _ error) (string, error) {
			if i == n-1 {
				return "", down
			}
			return "", nil
		}
		if answers, err = batch.Each(t.Context(), n, even, func(_ context.Context, s []int) ([]string, error) { return make([]string, len(s)), nil }, failing); answers != nil || !errors.Is(err, down) {
			t.Errorf("answered %v, %v", answers, err)
		}
	}
}

// The one item that a database refuses stands alone, the others are served in order.
func TestApart(t *testing.T) {
	t.Parallel()
	verb := func(steps []int) ([]string, error) {
		if slices.Contains(steps, 3) {
			return nil, fmt.Errorf("a constraint: %w", store.ErrRefused)
		}
		out := make([]string, len(steps))
		for k, s := range steps {
			out[k] = fmt.Sprint(s)
		}
		return out, nil
	}
	got, err := batch.Apart([]int{1, 2, 3, 4, 5}, verb, func(error) string { return "refused" })
	if want := []string{"1", "2", "refused", "4", "5"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	down := errors.New("down")
	if _, err := batch.Apart([]int{1, 2}, func([]int) ([]string, error) { return nil, down }, nil); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}
