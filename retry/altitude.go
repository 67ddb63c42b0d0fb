package retry

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// Work is retried at four levels, each with its own policy: a request by the caller's
// process, a stage by its runner, a record by the workers that claim due errors, and
// Gate Zero by the recovery workers.

const day = 24 * time.Hour

// Request returns the policy for one request that failed with code (spec 001,
// Retry Configuration by Error Type). A code without a row of its own gets the
// defaults of spec 001's backoff function and 3 retries. Retry-After is
// honoured up to the cap; above it the error is returned, because a caller must
// not come back earlier than it was asked to.
func Request(code recoup.Code) Policy {
	switch code {
	case "NETWORK_TIMEOUT":
		return request(5, 100*time.Millisecond, 5*time.Second, 1.5)
	case "DATABASE_CONNECTION_ERROR":
		return request(3, time.Second, time.Minute, 2)
	case "RATE_LIMIT_EXCEEDED":
		return request(3, time.Minute, 15*time.Minute, 2)
	case "VALIDATION_ERROR":
		return Policy{Schedule: Schedule{Kind: None}}
	}
	return request(3, time.Second, 5*time.Minute, 2)
}

func request(retries int, base, limit time.Duration, multiplier float64) Policy {
	return Policy{
		Schedule:   Schedule{Kind: Exponential, Base: base, Multiplier: multiplier, Cap: limit, Jitter: Additive},
		MaxRetries: retries,
		RetryAfter: HonourOrGiveUp,
	}
}

// Stage returns the policy of one stage of a pipeline (spec 002, 8.2 and 8.3):
// five attempts, the first included, with full jitter.
func Stage() Policy {
	return Policy{
		Schedule:   Schedule{Kind: Exponential, Base: time.Second, Multiplier: 2, Cap: time.Minute, Jitter: Full},
		MaxRetries: Retries(5),
		RetryAfter: Honour,
		Ceiling:    5 * time.Minute,
	}
}

// Record returns the policy of a governed error by its category (spec 000,
// 5.1): 2 to 32 seconds for transient failures, 5 to 15 minutes for operational
// ones, and one retry by hand for structural ones, as for unknown categories.
func Record(category recoup.Category) Policy {
	switch category {
	case recoup.Transient:
		return Policy{
			Schedule:   Schedule{Kind: Exponential, Base: 2 * time.Second, Multiplier: 2},
			MaxRetries: 5,
			Window:     day,
			RetryAfter: Honour,
		}
	case recoup.Operational:
		return Policy{
			Schedule:   Schedule{Kind: Linear, Base: 5 * time.Minute},
			MaxRetries: 3,
			Window:     7 * day,
			RetryAfter: Honour,
		}
	}
	return Policy{Schedule: Schedule{Kind: None}, MaxRetries: 1}
}

// Gate returns the policy of Gate Zero (spec 004, 8): 24, 72 and 168 hours,
// each from the last failure, then no more.
func Gate() Policy {
	return Policy{
		Schedule:   Schedule{Kind: Fixed, Steps: []time.Duration{day, 3 * day, 7 * day}},
		MaxRetries: 3,
	}
}
