package retry

import (
	"errors"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
)

// Policy is a schedule with a budget: whether to try again, and when.
type Policy struct {
	Schedule   Schedule
	MaxRetries int            // tries after the first; zero: none. See [Retries]
	Window     time.Duration  // no retry later than this after the start; zero: no window
	RetryAfter RetryAfterRule // what to do with the Retry-After of a failure
	Ceiling    time.Duration  // most that any one wait may last; zero: none
}

// RetryAfterRule says what a policy does with the Retry-After of a failure.
type RetryAfterRule string

// The rules of the specifications. Both that honour it take the larger of
// Retry-After and the schedule's delay.
const (
	Ignore         RetryAfterRule = "ignore"
	Honour         RetryAfterRule = "honour"            // and wait no longer than the ceiling (spec 002, 8.2)
	HonourOrGiveUp RetryAfterRule = "honour_or_give_up" // above the schedule's cap, give up rather than come back early
)

// Failure is what a classifier says of one error: everything a policy needs to
// know of it. The zero Failure is not retryable.
type Failure struct {
	Code       recoup.Code
	Retryable  bool
	RetryAfter time.Duration // what the other side asked for; zero: nothing
	Floor      time.Duration // least wait that makes sense for this kind of failure
	Elapsed    time.Duration // since the window opened; [Do] fills it in
}

// Verdict is the outcome of one attempt.
type Verdict string

// The verdicts. All but the first two end the retrying.
const (
	Succeeded         Verdict = "succeeded"
	Retry             Verdict = "retry"
	NotRetryable      Verdict = "not_retryable"        // the failure's class forbids it
	BudgetSpent       Verdict = "budget_spent"         // no retries left
	WindowClosed      Verdict = "window_closed"        // the next try would come too late
	RetryAfterTooLong Verdict = "retry_after_too_long" // the other side asked for more than the cap
	ByHandOnly        Verdict = "by_hand_only"         // a person may retry, the system may not
	Cancelled         Verdict = "cancelled"            // the context ended
)

// Next decides what follows the failure of an attempt. attempt counts from 1,
// the first try included. The delay is zero unless the verdict is [Retry].
// random is passed on to [Schedule.Delay]. Next is a pure function.
func (p Policy) Next(attempt int, f Failure, random func() float64) (time.Duration, Verdict) {
	switch {
	case !f.Retryable:
		return 0, NotRetryable
	case attempt > p.MaxRetries:
		return 0, BudgetSpent
	case p.Schedule.Kind == None:
		return 0, ByHandOnly
	}
	delay := max(p.Schedule.Delay(attempt, random), f.Floor)
	switch p.RetryAfter {
	case HonourOrGiveUp:
		if f.RetryAfter > p.Schedule.Cap {
			return 0, RetryAfterTooLong
		}
		delay = max(delay, f.RetryAfter)
	case Honour:
		delay = max(delay, f.RetryAfter)
	}
	if p.Ceiling > 0 {
		delay = min(delay, p.Ceiling)
	}
	if p.Window > 0 && delay > p.Window-f.Elapsed {
		return 0, WindowClosed
	}
	return delay, Retry
}

// Retries converts a budget that counts the first attempt, as spec 002 does,
// into [Policy.MaxRetries], which does not: 5 attempts are 4 retries.
func Retries(attempts int) int { return max(attempts-1, 0) }

// Attempts is the inverse of [Retries]: how often the work is tried in all.
func (p Policy) Attempts() int { return p.MaxRetries + 1 }

// Validate reports the first thing that makes p useless as a policy.
func (p Policy) Validate() error {
	if err := p.Schedule.Validate(); err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	switch p.RetryAfter {
	case "", Ignore, Honour:
	case HonourOrGiveUp:
		if p.Schedule.Cap == 0 {
			return errors.New("the rule honour_or_give_up needs a schedule with a cap to give up at")
		}
	default:
		return fmt.Errorf("rule for Retry-After is %q: expected %q, %q or %q", p.RetryAfter, Ignore, Honour, HonourOrGiveUp)
	}
	switch {
	case p.MaxRetries < 0:
		return fmt.Errorf("max retries is %d: expected zero or more", p.MaxRetries)
	case p.Window < 0:
		return fmt.Errorf("window is %v: expected a positive duration, or zero for none", p.Window)
	case p.Ceiling < 0:
		return fmt.Errorf("ceiling is %v: expected a positive duration, or zero for none", p.Ceiling)
	}
	return nil
}
