package ingest_test

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/examples/renderdb/api"
	"github.com/recoup-dev/recoup/examples/renderdb/ingest"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// TestWhatPassesIsRetried walks through failures that go away while the client
// waits, each as long as spec 001 says for its code.
func TestWhatPassesIsRetried(t *testing.T) {
	t.Parallel()
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	timeout := &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	for _, test := range []struct {
		name   string
		before func(*world)
		waits  []time.Duration
	}{
		{"nothing fails", func(*world) {}, nil},
		{"DATABASE_CONNECTION_ERROR", func(w *world) {
			w.failures.Switch(api.Database, true)
			w.wake = func(wait int) { w.failures.Switch(api.Database, wait < 2) }
		}, []time.Duration{30 * time.Second, 30 * time.Second}}, // retry_after beats 1 s and 2 s
		{"RATE_LIMIT_EXCEEDED", func(w *world) {
			for range 4 {
				_, _ = w.client.CreateCompany(w.t.Context(), ingest.Company{}) // VALIDATION_ERROR, and counted
			}
		}, []time.Duration{time.Minute}},
		{"NETWORK_TIMEOUT", func(w *world) { w.lose(timeout, timeout) }, []time.Duration{100 * time.Millisecond, 150 * time.Millisecond}},
		{"CONNECTION_RESET", func(w *world) { w.lose(reset) }, []time.Duration{time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			test.before(w)
			uid, err := w.createCompany()
			if err != nil || uid != "CO-20240828-000001" { // and not a second one, or DUPLICATE_RECORD
				t.Errorf("created %q: %v", uid, err)
			}
			if !slices.Equal(w.waits, test.waits) {
				t.Errorf("waited %v, want %v", w.waits, test.waits)
			}
		})
	}
}

// TestWhatStaysIsReturned is about failures that no waiting mends, or none that
// a request may do.
func TestWhatStaysIsReturned(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code     recoup.Code
		before   func(*world)
		verdict  retry.Verdict
		attempts int
	}{
		{fault.CodeTemporaryUnavailable, func(w *world) { w.failures.Switch(api.Maintenance, true) }, retry.RetryAfterTooLong, 1},
		{fault.CodeServiceOverloaded, func(w *world) { w.failures.Switch(api.Overload, true) }, retry.RetryAfterTooLong, 1},
		{fault.CodeDatabaseConnectionError, func(w *world) { w.failures.Switch(api.Database, true) }, retry.BudgetSpent, 4},
		{fault.CodeInvalidAPIKey, func(w *world) { w.client.Key = "rdb_guess" }, retry.NotRetryable, 1},
	} {
		t.Run(string(test.code), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			test.before(w)
			_, err := w.createCompany()
			gaveUp, ok := errors.AsType[*retry.Error](err)
			if !ok || gaveUp.Verdict != test.verdict || gaveUp.Attempts != test.attempts || !errors.Is(err, fault.New(test.code, "")) {
				t.Errorf("the call ends with %v", err)
			}
		})
	}
}

// The bad fields reach the program that can mend them.
func TestBadFieldsReachTheCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.client.CreateCompany(t.Context(), ingest.Company{Website: "not-a-url"})
	failure, ok := errors.AsType[*fault.Error](err)
	if !ok || len(failure.Fields()) != 2 || failure.Fields()[1].Field != "website" || len(w.waits) > 0 {
		t.Errorf("the call ends with %v after %v", err, w.waits)
	}
}

// The fallback is asked at once; where it fails too, or the caller chose for
// themselves, the client waits as for any failure.
func TestFallbackProvider(t *testing.T) {
	t.Parallel()
	ann := ingest.Person{Name: "Ann", Email: "ann@example.com"}
	w := newWorld(t, nil)
	w.failures.Switch(api.Verifier, true)
	if uid, err := w.client.CreatePerson(t.Context(), ann); err != nil || uid != "PE-20240828-000001" || len(w.waits) > 0 {
		t.Errorf("created %q after %v: %v", uid, w.waits, err)
	}
	w.wake = func(int) { w.failures.Switch(api.Verifier, false) }
	ann.Verifier = "millionverifier"
	if uid, err := w.client.CreatePerson(t.Context(), ann); err != nil || uid != "PE-20240828-000002" || !slices.Equal(w.waits, []time.Duration{5 * time.Minute}) {
		t.Errorf("created %q after %v: %v", uid, w.waits, err)
	}
}

// Two processes send the same person: the second finds the first at work,
// IDEMPOTENCY_CONFLICT, and waits for its answer.
func TestSamePersonTwice(t *testing.T) {
	t.Parallel()
	verifier := held{make(chan struct{}), make(chan struct{})}
	release := sync.OnceFunc(func() { close(verifier.answer) })
	w := newWorld(t, verifier)
	var background sync.WaitGroup
	defer background.Wait()
	defer release()
	create := func() string {
		uid, err := w.client.CreatePerson(t.Context(), ingest.Person{Name: "Ann", Email: "ann@example.com"})
		if err != nil {
			t.Error(err)
		}
		return uid
	}
	first := make(chan string, 1)
	background.Go(func() { first <- create() })
	<-verifier.asked
	var answer string
	w.wake = func(int) {
		release()
		answer = <-first
	}
	if again := create(); again != answer || again != "PE-20240828-000001" || !slices.Equal(w.waits, []time.Duration{time.Second}) {
		t.Errorf("created %q and %q after %v", answer, again, w.waits)
	}
}
