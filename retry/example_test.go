package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup/retry"
)

func ExampleSchedule_Delay() {
	s := retry.Schedule{Kind: retry.Exponential, Base: time.Second, Multiplier: 2, Cap: 5 * time.Second}
	for n := range 4 {
		fmt.Print(s.Delay(n+1, nil), " ")
	}
	// Output: 1s 2s 4s 5s
}

func ExamplePolicy_Next() {
	policy := retry.Request("RATE_LIMIT_EXCEEDED")
	failure := retry.Failure{Code: "RATE_LIMIT_EXCEEDED", Retryable: true, RetryAfter: 10 * time.Minute}
	fmt.Println(policy.Next(1, failure, func() float64 { return 0 }))
	failure.RetryAfter = time.Hour
	fmt.Println(policy.Next(1, failure, func() float64 { return 0 }))
	// Output:
	// 10m0s retry
	// 0s retry_after_too_long
}

func ExampleDo() {
	errBusy := errors.New("busy")
	options := retry.NewOptions(retry.Always(retry.Stage()), func(err error) retry.Failure {
		return retry.Failure{Retryable: errors.Is(err, errBusy)}
	})
	options.Sleep = func(context.Context, time.Duration) error { return nil } // a test does not wait
	options.Observe = func(a retry.Attempt) { fmt.Println("attempt", a.Number, a.Verdict) }

	tries := 0
	err := retry.Do(context.Background(), options, func(context.Context) error {
		if tries++; tries < 3 {
			return errBusy
		}
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// attempt 1 retry
	// attempt 2 retry
	// attempt 3 succeeded
	// error: <nil>
}

func ExampleParseRetryAfter() {
	now := time.Date(2025, 10, 23, 7, 28, 0, 0, time.UTC)
	fmt.Println(retry.ParseRetryAfter("120", now))
	fmt.Println(retry.ParseRetryAfter("Thu, 23 Oct 2025 07:30:00 GMT", now))
	// Output:
	// 2m0s true
	// 2m0s true
}
