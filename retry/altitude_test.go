package retry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

const (
	second = time.Second
	hour   = time.Hour
)

// delays lists the waits a policy grants to a failure that never goes away,
// without the luck of the draw, and the verdict that ends them.
func delays(p retry.Policy, f retry.Failure, random float64) ([]time.Duration, retry.Verdict) {
	var all []time.Duration
	for attempt := 1; ; attempt++ {
		delay, verdict := p.Next(attempt, f, constant(random))
		if verdict != retry.Retry {
			return all, verdict
		}
		f.Elapsed += delay
		all = append(all, delay)
	}
}

// Every row of the four specifications: how often, how long, how it ends.
func TestAltitudes(t *testing.T) {
	ms := func(list ...float64) []time.Duration {
		var all []time.Duration
		for _, m := range list {
			all = append(all, time.Duration(m*float64(time.Millisecond)))
		}
		return all
	}
	for _, c := range []struct {
		name   string
		policy retry.Policy
		random float64
		want   []time.Duration
		end    retry.Verdict
	}{
		// Spec 001, Retry Configuration by Error Type; max_attempts are retries.
		{"NETWORK_TIMEOUT", retry.Request("NETWORK_TIMEOUT"), 0, ms(100, 150, 225, 337.5, 506.25), retry.BudgetSpent},
		{"NETWORK_TIMEOUT, most jitter", retry.Request("NETWORK_TIMEOUT"), 1, ms(110, 165, 247.5, 371.25, 556.875), retry.BudgetSpent},
		{"DATABASE_CONNECTION_ERROR", retry.Request("DATABASE_CONNECTION_ERROR"), 0, []time.Duration{second, 2 * second, 4 * second}, retry.BudgetSpent},
		{"RATE_LIMIT_EXCEEDED", retry.Request("RATE_LIMIT_EXCEEDED"), 0, []time.Duration{60 * second, 120 * second, 240 * second}, retry.BudgetSpent},
		{"VALIDATION_ERROR", retry.Request("VALIDATION_ERROR"), 0, nil, retry.BudgetSpent},
		{"a code without a row", retry.Request("CONNECTION_RESET"), 0, []time.Duration{second, 2 * second, 4 * second}, retry.BudgetSpent},
		{"a code without a row, most jitter", retry.Request("CONNECTION_RESET"), 1, ms(1100, 2200, 4400), retry.BudgetSpent},

		// Spec 002, 8.2 and 8.3: five attempts, the first included.
		{"stage, longest", retry.Stage(), 1, []time.Duration{second, 2 * second, 4 * second, 8 * second}, retry.BudgetSpent},
		{"stage, half", retry.Stage(), 0.5, ms(500, 1000, 2000, 4000), retry.BudgetSpent},
		{"stage, shortest", retry.Stage(), 0, []time.Duration{0, 0, 0, 0}, retry.BudgetSpent},

		// Spec 000, 5.1.
		{"TRANSIENT", retry.Record(recoup.Transient), 1, []time.Duration{2 * second, 4 * second, 8 * second, 16 * second, 32 * second}, retry.BudgetSpent},
		{"OPERATIONAL", retry.Record(recoup.Operational), 1, []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute}, retry.BudgetSpent},
		{"STRUCTURAL", retry.Record(recoup.Structural), 1, nil, retry.ByHandOnly},
		{"an unknown category", retry.Record("COSMIC"), 1, nil, retry.ByHandOnly},

		// Spec 004, 8.
		{"gate", retry.Gate(), 1, []time.Duration{24 * hour, 72 * hour, 168 * hour}, retry.BudgetSpent},
	} {
		got, end := delays(c.policy, retry.Failure{Retryable: true}, c.random)
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: waits %v then %s, want %v then %s", c.name, got, end, c.want, c.end)
		}
		if err := c.policy.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The figures that no sequence of short budgets ever reaches.
func TestAltitudeLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy retry.Policy
		want   retry.Policy
	}{
		{"NETWORK_TIMEOUT", retry.Request("NETWORK_TIMEOUT"), limits(5, 5*second, 0, 0)},
		{"DATABASE_CONNECTION_ERROR", retry.Request("DATABASE_CONNECTION_ERROR"), limits(3, 60*second, 0, 0)},
		{"RATE_LIMIT_EXCEEDED", retry.Request("RATE_LIMIT_EXCEEDED"), limits(3, 900*second, 0, 0)},
		{"VALIDATION_ERROR", retry.Request("VALIDATION_ERROR"), limits(0, 0, 0, 0)},
		{"a code without a row", retry.Request("ANYTHING"), limits(3, 300*second, 0, 0)},
		{"stage", retry.Stage(), limits(4, 60*second, 0, 5*time.Minute)},
		{"TRANSIENT", retry.Record(recoup.Transient), limits(5, 0, 24*hour, 0)},
		{"OPERATIONAL", retry.Record(recoup.Operational), limits(3, 0, 7*24*hour, 0)},
		{"STRUCTURAL", retry.Record(recoup.Structural), limits(1, 0, 0, 0)},
		{"gate", retry.Gate(), limits(3, 0, 0, 0)},
	} {
		got := limits(c.policy.MaxRetries, c.policy.Schedule.Cap, c.policy.Window, c.policy.Ceiling)
		if got.MaxRetries != c.want.MaxRetries || got.Schedule.Cap != c.want.Schedule.Cap || got.Window != c.want.Window || got.Ceiling != c.want.Ceiling {
			t.Errorf("%s: limits %+v, want %+v", c.name, got, c.want)
		}
	}
}

func limits(retries int, longest, window, ceiling time.Duration) retry.Policy {
	return retry.Policy{MaxRetries: retries, Schedule: retry.Schedule{Cap: longest}, Window: window, Ceiling: ceiling}
}

func TestGateStepsBelongToTheCaller(t *testing.T) {
	retry.Gate().Schedule.Steps[0] = 0
	if got := retry.Gate().Schedule.Steps[0]; got != 24*hour {
		t.Errorf("one caller's change reached another: the first step is %v", got)
	}
}
