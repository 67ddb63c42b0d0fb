package client

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// pause is the backoff of loops that never give up: meanwhile the emitter drops what
// it has no room for, and a worker keeps its results.
func pause() retry.Schedule {
	return retry.Schedule{Kind: retry.Exponential, Base: time.Second, Multiplier: 2, Cap: time.Minute, Jitter: retry.Additive}
}

// longestPause is the most that a server can ask for.
const longestPause = 15 * time.Minute

// deliverAll sends the backlog, oldest first, until ctx ends.
func (m *Emitter) deliverAll(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		b, lines, err := m.backlog.head()
		if b == nil {
			m.idle(ctx)
			continue
		}
		if err != nil { // the spool's file is gone or broken
			m.o.Logger.Error("events in the spool cannot be read, and are lost", "events", b.n, "error", err)
			m.lose(b, b.n)
			m.backlog.replace()
			continue
		}
		select {
		case <-m.hurry: // this is what somebody waits for
		default:
		}
		failure := m.post(ctx, b, lines)
		if failure == nil || m.mend(b, lines, failure) {
			failures = 0
			continue
		}
		failures++
		m.rest(ctx, failures, failure)
	}
}

// idle waits until there is something to send.
func (m *Emitter) idle(ctx context.Context) {
	select {
	case <-m.arrived:
	case <-m.hurry: // there is nothing to hurry for
	case <-ctx.Done():
	}
}

// post sends a batch and takes it off the backlog. Until that has happened, every
// request for it is the same.
func (m *Emitter) post(ctx context.Context, b *batch, lines []byte) *fault.Error {
	if b.key == "" {
		b.key = m.c.ids.New(m.c.o.Now()).String()
		m.mu.Lock()
		b.dropped, m.unsent = b.dropped+m.unsent, 0
		m.mu.Unlock()
	}
	r := eventsRequest(lines)
	if b.dropped > 0 {
		r.Header["X-Recoup-Dropped"] = []string{strconv.FormatInt(b.dropped, 10)}
	}
	answer, err := call[recoup.EventsAccepted](ctx, m.c, r, []CallOption{NoRetry(), IdempotencyKey(b.key)})
	if err != nil {
		return m.c.failure(err)
	}
	m.mu.Lock()
	m.stats.Delivered += int64(b.n - answer.NRefused)
	m.stats.Refused += int64(answer.NRefused)
	m.mu.Unlock()
	if answer.NRefused > 0 {
		m.o.Logger.Warn("the server refused events", "refused", answer.NRefused, "of", b.n)
	}
	m.backlog.replace()
	return nil
}

// mend changes a batch that the server will not take as it is: it leaves out the
// line that the server named, halves what is too large, and gives up the rest.
// It is false if the batch is not what is wrong.
func (m *Emitter) mend(b *batch, lines []byte, failure *fault.Error) bool {
	bad := badLine(lines, failure)
	switch {
	case failure.Status == http.StatusRequestEntityTooLarge && bad < 0 && b.n > 1:
		_, half := cut(lines, b.n/2)
		m.backlog.replace(lines[:half], lines[half:])
	case bad >= 0 && b.n > 1:
		m.lose(nil, 1)
		m.backlog.replace(without(lines, bad))
	case refusesBatch(failure.Status):
		m.lose(b, b.n)
		m.backlog.replace()
	default:
		return false
	}
	m.o.Logger.Warn("the server did not take a batch of events as it was", "events", b.n, "error", failure)
	return true
}

// badLine returns the index of the line that the server named, or -1.
func badLine(lines []byte, failure *fault.Error) int {
	number, ok := failure.Details["line"].(float64)
	if n := bytes.Count(lines, []byte{'\n'}); !ok || !refusesBatch(failure.Status) || number < 1 || int(number) > n {
		return -1
	}
	return int(number) - 1
}

// without returns lines but for the one at an index.
func without(lines []byte, index int) []byte {
	var rest []byte
	for line := range bytes.Lines(lines) {
		if index != 0 {
			rest = append(rest, line...)
		}
		index--
	}
	return rest
}

// refusesBatch reports whether a status is about what was sent, and not about who
// sent it or when.
func refusesBatch(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// lose counts n events as dropped, and the drops that their batch was to report.
func (m *Emitter) lose(b *batch, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(n)
	if b != nil {
		m.unsent += b.dropped
	}
}

// rest waits after a failure: a growing time, or what the server asked for.
// Somebody who waits for the delivery shortens the first and not the second.
func (m *Emitter) rest(ctx context.Context, failures int, failure *fault.Error) {
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	m.stats.Failures++
	m.mu.Unlock()
	v := m.c.o.Registry.Classify(failure)
	retryable := v.Retryable(recoup.ConditionIdempotencyKey)
	delay := pause().Delay(failures, m.c.random)
	if !retryable {
		delay = pause().Cap
	}
	hurry := m.hurry
	if v.RetryAfter > 0 {
		delay, hurry = max(delay, min(v.RetryAfter, longestPause)), nil
	}
	m.o.Logger.Warn("events cannot be delivered", "waiting", m.backlog.waiting(), "next_try_in", delay, "error", failure)
	m.backlog.failed(failure, !retryable)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-hurry:
	case <-ctx.Done():
	}
}
