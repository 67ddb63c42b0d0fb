package api

import (
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Limits are what one account, and all of them together, may ask for.
type Limits struct {
	PerMinute     int // requests of an account; more are RATE_LIMIT_EXCEEDED
	PerDay        int // requests of an account; more are QUOTA_EXCEEDED
	InFlight      int // requests at the same time; more are SERVICE_OVERLOADED
	Verifications int // e-mail addresses being verified; more are VALIDATION_QUEUE_FULL
}

// DefaultLimits returns generous limits.
func DefaultLimits() Limits {
	return Limits{PerMinute: 100, PerDay: 10_000, InFlight: 64, Verifications: 16}
}

// limiter counts requests per account in windows of fixed length.
type limiter struct {
	code   recoup.Code
	limit  int
	window time.Duration

	mu    sync.Mutex
	begin time.Time // of the window that used counts
	used  map[string]int
}

func newLimiter(code recoup.Code, limit int, window time.Duration) *limiter {
	return &limiter{code: code, limit: limit, window: window}
}

// take counts a request, or refuses it until the next window.
func (l *limiter) take(account string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if begin := now.Truncate(l.window); !begin.Equal(l.begin) {
		l.begin, l.used = begin, map[string]int{}
	}
	if l.used[account] >= l.limit {
		return fault.New(l.code, "An account may send %d requests in %.0f seconds.", l.limit, l.window.Seconds()).
			With("limit", l.limit).With("window_sec", int(l.window.Seconds())).
			After(l.begin.Add(l.window).Sub(now))
	}
	l.used[account]++
	return nil
}

// gate lets in as many as it has places, and nobody waits in front of it: who
// is refused at once can come back, who waits only adds to the load.
type gate chan struct{}

func newGate(places int) gate { return make(gate, places) }

func (g gate) enter() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g gate) leave() { <-g }
