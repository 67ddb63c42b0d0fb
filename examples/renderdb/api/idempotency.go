package api

import (
	"bytes"
	"crypto/sha256"
	"io"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// busyPause is how long to wait for the first of two equal requests.
const busyPause = time.Second

// answers remembers what was answered under which idempotency key. A service
// that runs for long forgets them after a day.
type answers struct {
	mu    sync.Mutex
	byKey map[string]*attempt
}

// attempt is the first request under a key.
type attempt struct {
	payload [sha256.Size]byte
	done    bool
	answer  answer
}

// once lets a request with an Idempotency-Key take effect once: the same
// payload gets the same answer again, another one is IDEMPOTENCY_CONFLICT. A
// request that failed took no effect, and may be sent again.
func (s *server) once(h handler) handler {
	return func(c call) (answer, error) {
		name := c.Header.Get("Idempotency-Key")
		if name == "" {
			return h(c)
		}
		body, err := io.ReadAll(c.Body)
		if err != nil {
			return answer{}, fault.From(err)
		}
		c.Body = io.NopCloser(bytes.NewReader(body))
		name = c.key.Account + " " + c.Pattern + " " + name
		first, err := s.answers.begin(name, sha256.Sum256(body))
		if err != nil || first.done {
			return first.answer, err
		}
		defer s.answers.release(name)
		a, err := h(c)
		if err == nil {
			s.answers.keep(name, a)
		}
		return a, err
	}
}

// begin returns a copy of the attempt under a key, which the caller has to make
// unless it is done.
func (s *answers) begin(name string, payload [sha256.Size]byte) (attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, found := s.byKey[name]
	switch {
	case !found:
		s.byKey[name] = &attempt{payload: payload}
		return attempt{}, nil
	case first.payload != payload:
		return attempt{}, fault.New(fault.CodeIdempotencyConflict, "This idempotency key was used with another payload.").
			With("same_payload", false)
	case !first.done:
		return attempt{}, fault.New(fault.CodeIdempotencyConflict, "The same request is being worked on.").
			With("same_payload", true).After(busyPause)
	}
	return *first, nil
}

func (s *answers) keep(name string, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byKey[name].answer, s.byKey[name].done = a, true
}

// release makes the key free again if its attempt came to nothing.
func (s *answers) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.byKey[name].done {
		delete(s.byKey, name)
	}
}
