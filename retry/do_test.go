package retry_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

func retryable(error) retry.Failure { return retry.Failure{Retryable: true} }

// failing returns work that fails with these errors in turn, then succeeds.
func failing(failures ...error) func(context.Context) error {
	return func(context.Context) error {
		if len(failures) == 0 {
			return nil
		}
		err := failures[0]
		failures = failures[1:]
		return err
	}
}

func TestDoWaitsAsThePolicySays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := retry.NewOptions(retry.Request, retryable)
		o.Random = constant(0)
		var seen []retry.Attempt
		o.Observe = func(a retry.Attempt) { seen = append(seen, a) }
		start := time.Now()
		if err := retry.Do(t.Context(), o, failing(io.EOF, io.ErrNoProgress)); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 3*time.Second {
			t.Errorf("two failures took %v, want 1 s + 2 s", got)
		}
		want := []retry.Attempt{
			{Number: 1, Err: io.EOF, Failure: retry.Failure{Retryable: true}, Verdict: retry.Retry, Delay: time.Second},
			{Number: 2, Err: io.ErrNoProgress, Failure: retry.Failure{Retryable: true, Elapsed: time.Second}, Verdict: retry.Retry, Delay: 2 * time.Second},
			{Number: 3, Verdict: retry.Succeeded},
		}
		if !slices.Equal(seen, want) {
			t.Errorf("the observer saw\n%+v, want\n%+v", seen, want)
		}
	})
}

func TestDoSpendsItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := retry.NewOptions(retry.Always(retry.Stage()), retryable)
		calls := 0
		err := retry.Do(t.Context(), o, func(context.Context) error { calls++; return io.EOF })
		gaveUp, ok := errors.AsType[*retry.Error](err)
		if !ok || gaveUp.Attempts != 5 || gaveUp.Verdict != retry.BudgetSpent || !errors.Is(err, io.EOF) {
			t.Errorf("Do = %#v", err)
		}
		if calls != 5 {
			t.Errorf("the work was tried %d times, want 5", calls)
		}
		if want := "gave up after attempt 5 (budget_spent): EOF"; err.Error() != want {
			t.Errorf("Error() = %q, want %q", err, want)
		}
	})
}

// Spec 002, 8.2: retries stop at once when a failure is reclassified.
func TestDoStopsOnReclassification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := retry.NewOptions(retry.Always(retry.Stage()), func(err error) retry.Failure {
			return retry.Failure{Retryable: !errors.Is(err, io.ErrClosedPipe)}
		})
		err := retry.Do(t.Context(), o, failing(io.EOF, io.EOF, io.ErrClosedPipe))
		gaveUp, ok := errors.AsType[*retry.Error](err)
		if !ok || gaveUp.Attempts != 3 || gaveUp.Verdict != retry.NotRetryable || gaveUp.Err != io.ErrClosedPipe {
			t.Errorf("Do = %#v", err)
		}
	})
}

func TestDoTakesThePolicyOfTheNewestCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		codes := []recoup.Code{"NETWORK_TIMEOUT", "NETWORK_TIMEOUT", "NETWORK_TIMEOUT", "DATABASE_CONNECTION_ERROR"}
		o := retry.NewOptions(retry.Request, func(error) retry.Failure {
			code := codes[0]
			codes = codes[1:]
			return retry.Failure{Code: code, Retryable: true}
		})
		err := retry.Do(t.Context(), o, func(context.Context) error { return io.EOF })
		gaveUp, ok := errors.AsType[*retry.Error](err)
		if !ok || gaveUp.Attempts != 4 || gaveUp.Verdict != retry.BudgetSpent {
			t.Errorf("Do = %v, want the three retries of the last code to be spent", err)
		}
	})
}

func TestDoKeepsToTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := retry.Record(recoup.Transient)
		p.Window = 7 * time.Second
		start := time.Now()
		err := retry.Do(t.Context(), retry.NewOptions(retry.Always(p), retryable), func(context.Context) error { return io.EOF })
		gaveUp, ok := errors.AsType[*retry.Error](err)
		if !ok || gaveUp.Verdict != retry.WindowClosed || gaveUp.Attempts != 3 {
			t.Errorf("Do = %v", err)
		}
		if got := time.Since(start); got != 6*time.Second {
			t.Errorf("it gave up after %v, want 2 s + 4 s and no wait of 8 s", got)
		}
	})
}

func TestDoStopsWaitingWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 90*time.Minute, io.ErrShortBuffer)
		defer cancel()
		start := time.Now()
		err := retry.Do(ctx, retry.NewOptions(retry.Always(retry.Gate()), retryable), failing(io.EOF))
		gaveUp, ok := errors.AsType[*retry.Error](err)
		if !ok || gaveUp.Verdict != retry.Cancelled || gaveUp.Attempts != 1 {
			t.Errorf("Do = %#v", err)
		}
		for _, want := range []error{context.DeadlineExceeded, io.ErrShortBuffer, io.EOF} {
			if !errors.Is(err, want) {
				t.Errorf("%q does not wrap %q", err, want)
			}
		}
		if got := time.Since(start); got != 90*time.Minute {
			t.Errorf("it gave up after %v, want when the context ended", got)
		}
	})
}

func TestDoDoesNotRetryInAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := retry.NewOptions(retry.Always(retry.Stage()), retryable)
		o.Random = constant(0)
		var last retry.Attempt
		o.Observe = func(a retry.Attempt) { last = a }
		err := retry.Do(ctx, o, func(context.Context) error { cancel(); return io.EOF })
		if !errors.Is(err, context.Canceled) || !errors.Is(err, io.EOF) || last.Verdict != retry.Cancelled || last.Number != 1 {
			t.Errorf("Do = %v after %+v", err, last)
		}

		err = retry.Do(ctx, o, func(context.Context) error { t.Error("the work was tried in an ended context"); return nil })
		if gaveUp, ok := errors.AsType[*retry.Error](err); !ok || gaveUp.Attempts != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("Do = %#v", err)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := retry.Sleep(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("Sleep = %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := retry.Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("Sleep in an ended context = %v", err)
		}
	})
}

func TestDoRefusesIncompleteOptions(t *testing.T) {
	for name, strip := range map[string]func(*retry.Options){
		"Policy":   func(o *retry.Options) { o.Policy = nil },
		"Classify": func(o *retry.Options) { o.Classify = nil },
		"Now":      func(o *retry.Options) { o.Now = nil },
		"Sleep":    func(o *retry.Options) { o.Sleep = nil },
		"Random":   func(o *retry.Options) { o.Random = nil },
	} {
		o := retry.NewOptions(retry.Request, retryable)
		strip(&o)
		err := retry.Do(t.Context(), o, func(context.Context) error { t.Error("the work was tried"); return nil })
		if err == nil {
			t.Errorf("options without %s were taken", name)
		}
	}
}
