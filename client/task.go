package client

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// work runs the handler on one error, whose claim was answered at a time, and
// reports the result to the server.
func (s *workerRun) work(e recoup.Error, received time.Time) {
	defer s.yield(1)
	var err error
	lease := heldLease{of: "error_id", id: e.ID, lasts: e.LeaseEndsAt.Sub(e.LeasedAt), received: received,
		extend: func(ctx context.Context, seconds int) error {
			return s.sender.send(ctx, recoup.RetryResult{ErrorID: e.ID, LeaseToken: e.LeaseToken, Outcome: recoup.OutcomeExtended, LeaseSeconds: seconds})
		}}
	cause := s.holding(lease, func(ctx context.Context) { s.run(ctx, e, &err) })
	if err != nil && errors.Is(cause, ErrLeaseLost) {
		return // the result is for whoever holds the lease now
	}
	s.submit(s.result(&e, err, cause))
}

// run calls the handler. A panic, or a handler that ends its goroutine, becomes an
// error.
func (s *workerRun) run(ctx context.Context, e recoup.Error, err *error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		s.Logger.Error("a handler panicked", "error_id", e.ID, "panic", p, "stack", string(debug.Stack()))
		*err = fault.New(fault.CodeRuntimeBug, "The handler panicked: %v", p)
	}()
	*err = s.Handler(ctx, e)
	returned = true
}

// result turns what the handler returned into a wire result.
func (s *workerRun) result(e *recoup.Error, err, cause error) recoup.RetryResult {
	r := recoup.RetryResult{ErrorID: e.ID, LeaseToken: e.LeaseToken, Outcome: recoup.OutcomeSucceeded}
	if err == nil {
		return r
	}
	v := s.Client.o.Registry.Classify(err)
	code := v.Code
	if errors.Is(cause, ErrStopped) { // it did not fail, it was stopped
		code = fault.CodeWorkerLost
	} else if _, malformed := recoup.ParseCode(string(code)); malformed != nil {
		code = fault.CodeInternalError
	}
	r.Outcome, r.Code, r.Reason, r.Proven = recoup.OutcomeFailed, string(code), excerpt(err), s.Proven
	r.RetryAfter = seconds(max(v.RetryAfter, 0))
	return r
}

// maxReason is the longest reason that a server takes, in bytes.
const maxReason = 1000

// excerpt is the text of an error, as far as a server takes it. The server
// removes secrets before it keeps it.
func excerpt(err error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(fmt.Sprint(err), "?"), "\x00", "?")
	if len(text) <= maxReason {
		return text
	}
	cut := maxReason
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// submit sends a result until the server has accepted or refused it.
func (s *workerRun) submit(r recoup.RetryResult) {
	for failures := 1; ; failures++ {
		err := s.sender.send(s.all, r)
		if err == nil || s.all.Err() != nil {
			return
		}
		s.Logger.Warn("a result was not accepted", "error_id", r.ErrorID, "outcome", r.Outcome, "error", err)
		if !s.retryable(err) || retry.Sleep(s.all, pause().Delay(failures, s.Client.random)) != nil {
			return
		}
	}
}

// retryable reports whether a result should be sent again, which never does harm: the
// server recognises it by its token.
func (s *workerRun) retryable(err error) bool {
	return s.Client.o.Registry.Classify(err).Retryable(recoup.ConditionIdempotencyKey)
}
