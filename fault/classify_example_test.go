package fault_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

func ExampleClassify() {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	v := fault.Classify(fmt.Errorf("load company: %w", refused))
	fmt.Println(v.Code, v.Class, v.Scope, v.Details)
	// Output: TEMPORARY_UNAVAILABLE short_delay request map[error_type:connection_refused]
}

func ExampleClassifyResponse() {
	now := time.Date(2025, 10, 23, 12, 0, 0, 0, time.UTC)
	header := http.Header{"Retry-After": {"Thu, 23 Oct 2025 12:02:00 GMT"}}
	v := fault.ClassifyResponse(http.StatusTooManyRequests, header, nil, now)
	fmt.Println(v.Code, v.RetryAfter, v.Retryable())
	// Output: RATE_LIMIT_EXCEEDED 2m0s true
}

func ExampleOnCommit() {
	lost := fault.OnCommit(syscall.ECONNRESET) // what tx.Commit returned
	v := fault.Classify(lost)
	fmt.Println(v.Code, v.Retryable(), v.Retryable(recoup.ConditionIdempotencyKey))
	// Output: OUTCOME_UNKNOWN false true
}

func ExampleClassifier() {
	options := retry.NewOptions(retry.Request, fault.Classifier(recoup.ConditionIdempotencyKey))
	options.Sleep = func(context.Context, time.Duration) error { return nil } // an example does not wait
	err := retry.Do(context.Background(), options, func(context.Context) error {
		return fault.New(fault.CodeDatabaseConnectionError, "the pool is exhausted")
	})
	fmt.Println(err)
	// Output: gave up after attempt 4 (budget_spent): DATABASE_CONNECTION_ERROR: the pool is exhausted
}

func ExampleNotIdempotent() {
	reset := fault.Classify(syscall.ECONNRESET)
	fmt.Println(reset.Code, reset.Scope, reset.Retryable(), reset.Retryable(fault.NotIdempotent()))
	// Output: CONNECTION_RESET idempotent_only true false
}

func ExampleProvider_ClassifyResponse() {
	verifier, _ := fault.DefaultProviders().Lookup("millionverifier")
	body := []byte(`{"error": "Insufficient credits"}`)
	v := verifier.ClassifyResponse(http.StatusOK, nil, body, time.Time{}, nil)
	fmt.Println(v.Code, v.Details["provider_error"], v.Details["fallback_provider"])
	// Output: QUOTA_EXCEEDED insufficient_credits zerobounce
}
