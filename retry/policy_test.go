package retry_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

func TestNext(t *testing.T) {
	const minute = time.Minute
	transient := retry.Record(recoup.Transient)
	ignoring := retry.Request("")
	ignoring.RetryAfter = retry.Ignore
	for _, c := range []struct {
		name    string
		policy  retry.Policy
		attempt int
		failure retry.Failure
		delay   time.Duration
		verdict retry.Verdict
	}{
		{"not retryable", retry.Stage(), 1, retry.Failure{RetryAfter: 1}, 0, retry.NotRetryable},
		{"not retryable beats a spent budget", retry.Stage(), 9, retry.Failure{}, 0, retry.NotRetryable},

		// Spec 002, 8.2: the larger counts, five minutes at most.
		{"stage: Retry-After is larger", retry.Stage(), 1, retry.Failure{Retryable: true, RetryAfter: 90 * second}, 90 * second, retry.Retry},
		{"stage: backoff is larger", retry.Stage(), 4, retry.Failure{Retryable: true, RetryAfter: 3 * second}, 8 * second, retry.Retry},
		{"stage: at the ceiling", retry.Stage(), 1, retry.Failure{Retryable: true, RetryAfter: 5 * minute}, 5 * minute, retry.Retry},
		{"stage: above the ceiling", retry.Stage(), 1, retry.Failure{Retryable: true, RetryAfter: hour}, 5 * minute, retry.Retry},
		{"stage: fifth attempt failed", retry.Stage(), 5, retry.Failure{Retryable: true}, 0, retry.BudgetSpent},

		// Spec 001: never earlier than asked, never later than the cap.
		{"request: at the cap", retry.Request("RATE_LIMIT_EXCEEDED"), 1, retry.Failure{Retryable: true, RetryAfter: 15 * minute}, 15 * minute, retry.Retry},
		{"request: above the cap", retry.Request("RATE_LIMIT_EXCEEDED"), 1, retry.Failure{Retryable: true, RetryAfter: 15*minute + 1}, 0, retry.RetryAfterTooLong},
		{"request: short cap", retry.Request("NETWORK_TIMEOUT"), 1, retry.Failure{Retryable: true, RetryAfter: 6 * second}, 0, retry.RetryAfterTooLong},
		{"request: ignored", ignoring, 1, retry.Failure{Retryable: true, RetryAfter: hour}, 1100 * time.Millisecond, retry.Retry},

		// Spec 000, 5.1: the largest of schedule, Retry-After and floor, inside the window.
		{"record: Retry-After", transient, 1, retry.Failure{Retryable: true, RetryAfter: hour, Floor: minute}, hour, retry.Retry},
		{"record: floor", transient, 1, retry.Failure{Retryable: true, RetryAfter: second, Floor: 15 * minute}, 15 * minute, retry.Retry},
		{"record: schedule", transient, 5, retry.Failure{Retryable: true, RetryAfter: second, Floor: 3 * second}, 32 * second, retry.Retry},
		{"record: last moment of the window", transient, 1, retry.Failure{Retryable: true, Elapsed: 24*hour - 2*second}, 2 * second, retry.Retry},
		{"record: past the window", transient, 1, retry.Failure{Retryable: true, Elapsed: 24*hour - 2*second + 1}, 0, retry.WindowClosed},
		{"record: Retry-After past the window", transient, 1, retry.Failure{Retryable: true, RetryAfter: 25 * hour}, 0, retry.WindowClosed},
		{"record: by hand", retry.Record(recoup.Structural), 1, retry.Failure{Retryable: true}, 0, retry.ByHandOnly},
		{"record: by hand, spent", retry.Record(recoup.Structural), 2, retry.Failure{Retryable: true}, 0, retry.BudgetSpent},

		{"gate: Retry-After is nobody's wish", retry.Gate(), 1, retry.Failure{Retryable: true, RetryAfter: 100 * hour}, 24 * hour, retry.Retry},
	} {
		delay, verdict := c.policy.Next(c.attempt, c.failure, constant(1))
		if delay != c.delay || verdict != c.verdict {
			t.Errorf("%s: Next(%d) = %v, %s, want %v, %s", c.name, c.attempt, delay, verdict, c.delay, c.verdict)
		}
	}
}

func TestRetriesOfABudgetThatCountsTheFirstAttempt(t *testing.T) {
	for attempts, want := range map[int]int{5: 4, 1: 0, 0: 0, -3: 0} {
		if got := retry.Retries(attempts); got != want {
			t.Errorf("Retries(%d) = %d, want %d", attempts, got, want)
		}
	}
	if got := retry.Stage().Attempts(); got != 5 {
		t.Errorf("a stage is attempted %d times, want 5", got)
	}
}

func TestValidatePolicy(t *testing.T) {
	for name, change := range map[string]func(*retry.Policy){
		"schedule":        func(p *retry.Policy) { p.Schedule.Base = 0 },
		"rule":            func(p *retry.Policy) { p.RetryAfter = "maybe" },
		"give up at what": func(p *retry.Policy) { p.Schedule.Cap = 0 },
		"retries":         func(p *retry.Policy) { p.MaxRetries = -1 },
		"window":          func(p *retry.Policy) { p.Window = -1 },
		"ceiling":         func(p *retry.Policy) { p.Ceiling = -1 },
	} {
		p := retry.Request("")
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if p.Validate() == nil {
			t.Errorf("%s: an invalid policy passed: %+v", name, p)
		}
	}
}
