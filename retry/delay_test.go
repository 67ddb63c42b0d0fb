package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
)

func constant(r float64) func() float64 { return func() float64 { return r } }

func noRandom() float64 { panic("a schedule without jitter drew a random number") }

// Spec 001: min(exp + random × 0.1 × exp, max).
func TestAdditiveJitterIsClampedAfterTheSum(t *testing.T) {
	s := retry.Schedule{Kind: retry.Exponential, Base: time.Second, Multiplier: 2, Cap: 300 * time.Second, Jitter: retry.Additive}
	for _, c := range []struct {
		n      int
		random float64
		want   time.Duration
	}{
		{1, 0, time.Second},
		{1, 0.5, 1050 * time.Millisecond},
		{1, 7, 1100 * time.Millisecond}, // a source that misbehaves
		{2, 0.5, 2100 * time.Millisecond},
		{9, 0, 256 * time.Second},
		{9, 0.5, 268800 * time.Millisecond},
		{9, 1, 281600 * time.Millisecond},
		{10, 0, 300 * time.Second},
		{10, 1, 300 * time.Second},
		{0, 0, time.Second},
		{-7, 0, time.Second},
	} {
		if got := s.Delay(c.n, constant(c.random)); got != c.want {
			t.Errorf("Delay(%d) with random %v = %v, want %v", c.n, c.random, got, c.want)
		}
	}
	tight := retry.Schedule{Kind: retry.Exponential, Base: 95 * time.Second, Multiplier: 1, Cap: 100 * time.Second, Jitter: retry.Additive}
	if got := tight.Delay(1, constant(0.9)); got != 100*time.Second {
		t.Errorf("95 s with 8.55 s of jitter under a cap of 100 s = %v", got)
	}
}

// Spec 002, 8.2: random(0, min(max, initial × multiplier^(attempt-1))).
func TestFullJitterIsDrawnFromTheClampedDelay(t *testing.T) {
	s := retry.Stage().Schedule
	for _, c := range []struct {
		n      int
		random float64
		want   time.Duration
	}{
		{1, 0, 0},
		{1, 0.5, 500 * time.Millisecond},
		{4, 0.25, 2 * time.Second},
		{7, 0.5, 30 * time.Second}, // 64 s is clamped to 60 s first
		{50, 0.5, 30 * time.Second},
		{1000000, 1, 60 * time.Second},
	} {
		if got := s.Delay(c.n, constant(c.random)); got != c.want {
			t.Errorf("Delay(%d) with random %v = %v, want %v", c.n, c.random, got, c.want)
		}
	}
}

func TestDelayWithoutJitter(t *testing.T) {
	linear := retry.Schedule{Kind: retry.Linear, Base: time.Minute, Cap: 150 * time.Second}
	fixed := retry.Schedule{Kind: retry.Fixed, Steps: []time.Duration{time.Second, 5 * time.Second}, Cap: 4 * time.Second}
	for name, c := range map[string]struct {
		schedule retry.Schedule
		n        int
		want     time.Duration
	}{
		"linear":               {linear, 2, 2 * time.Minute},
		"linear, capped":       {linear, 3, 150 * time.Second},
		"fixed":                {fixed, 1, time.Second},
		"fixed, capped":        {fixed, 2, 4 * time.Second},
		"fixed, past the end":  {fixed, 3, 4 * time.Second},
		"fixed, without steps": {retry.Schedule{Kind: retry.Fixed}, 1, 0},
		"none":                 {retry.Schedule{Kind: retry.None, Base: time.Second}, 1, 0},
		"zero":                 {retry.Schedule{}, 1, 0},
	} {
		if got := c.schedule.Delay(c.n, noRandom); got != c.want {
			t.Errorf("%s: Delay(%d) = %v, want %v", name, c.n, got, c.want)
		}
	}
}

func TestDelayStaysInBoundsWhateverItIsGiven(t *testing.T) {
	counts := []int{math.MinInt, -1, 0, 1, 2, 3, 62, 63, 64, 1023, 1024, 1 << 40, math.MaxInt}
	bases := []time.Duration{math.MinInt64, -1, 0, 1, time.Second, math.MaxInt64 / 2, math.MaxInt64}
	multipliers := []float64{math.Inf(-1), -2, 0, 0.5, 1, 1.5, 2, 1e300, math.Inf(1), math.NaN()}
	randoms := []float64{math.Inf(-1), -1, 0, 0.5, math.Nextafter(1, 0), 1, 7, math.Inf(1), math.NaN()}
	for _, kind := range []retry.Kind{retry.None, retry.Exponential, retry.Linear, retry.Fixed, ""} {
		for _, jitter := range []retry.Jitter{retry.NoJitter, retry.Additive, retry.Full, ""} {
			for _, base := range bases {
				for _, multiplier := range multipliers {
					for _, limit := range []time.Duration{0, 1, time.Minute, math.MaxInt64} {
						s := retry.Schedule{Kind: kind, Base: base, Multiplier: multiplier, Cap: limit, Steps: bases, Jitter: jitter}
						checkBounds(t, s, counts, randoms)
					}
				}
			}
		}
	}
}

func checkBounds(t *testing.T, s retry.Schedule, counts []int, randoms []float64) {
	t.Helper()
	for _, n := range counts {
		for _, r := range randoms {
			got := s.Delay(n, constant(r))
			if got < 0 || s.Cap > 0 && got > s.Cap {
				t.Fatalf("%+v: Delay(%d) with random %v = %v", s, n, r, got)
			}
		}
	}
}

func TestDelayGrowsUntilItsLimit(t *testing.T) {
	for _, s := range []retry.Schedule{
		{Kind: retry.Exponential, Base: 1, Multiplier: 1.5},
		{Kind: retry.Exponential, Base: time.Second, Multiplier: 2},
		{Kind: retry.Linear, Base: 1 << 50},
	} {
		for n := range 20000 {
			if s.Delay(n+1, nil) < s.Delay(n, nil) {
				t.Fatalf("%+v: Delay(%d) is shorter than the one before", s, n+1)
			}
		}
		if got := s.Delay(20000, nil); got != math.MaxInt64 {
			t.Errorf("%+v: Delay(20000) = %v, want the longest duration", s, got)
		}
	}
}

func TestValidateSchedule(t *testing.T) {
	exponential := retry.Schedule{Kind: retry.Exponential, Base: 1, Multiplier: 1}
	with := func(change func(*retry.Schedule)) retry.Schedule {
		s := exponential
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		schedule retry.Schedule
		valid    bool
	}{
		"exponential":         {exponential, true},
		"linear":              {retry.Schedule{Kind: retry.Linear, Base: 1, Jitter: retry.NoJitter}, true},
		"fixed":               {retry.Schedule{Kind: retry.Fixed, Steps: []time.Duration{0, 1}}, true},
		"none":                {retry.Schedule{Kind: retry.None}, true},
		"no kind":             {retry.Schedule{}, false},
		"unknown kind":        {with(func(s *retry.Schedule) { s.Kind = "cubic" }), false},
		"unknown jitter":      {with(func(s *retry.Schedule) { s.Jitter = "half" }), false},
		"no base":             {with(func(s *retry.Schedule) { s.Base = 0 }), false},
		"linear, no base":     {retry.Schedule{Kind: retry.Linear}, false},
		"shrinking":           {with(func(s *retry.Schedule) { s.Multiplier = 0.9 }), false},
		"not a number":        {with(func(s *retry.Schedule) { s.Multiplier = math.NaN() }), false},
		"infinite":            {with(func(s *retry.Schedule) { s.Multiplier = math.Inf(1) }), false},
		"negative cap":        {with(func(s *retry.Schedule) { s.Cap = -1 }), false},
		"fixed, no steps":     {retry.Schedule{Kind: retry.Fixed}, false},
		"fixed, step of -1ns": {retry.Schedule{Kind: retry.Fixed, Steps: []time.Duration{1, -1}}, false},
	} {
		if err := c.schedule.Validate(); (err == nil) != c.valid {
			t.Errorf("%s: Validate() = %v", name, err)
		}
	}
}

func TestDelayDoesNotAllocate(t *testing.T) {
	random := constant(0.5)
	for _, s := range []retry.Schedule{retry.Request("").Schedule, retry.Stage().Schedule, retry.Gate().Schedule} {
		if got := testing.AllocsPerRun(100, func() { s.Delay(3, random) }); got != 0 {
			t.Errorf("%s: %v allocations per delay", s.Kind, got)
		}
	}
}

func BenchmarkDelay(b *testing.B) {
	random := constant(0.5)
	for name, s := range map[string]retry.Schedule{
		"additive": retry.Request("NETWORK_TIMEOUT").Schedule,
		"full":     retry.Stage().Schedule,
		"linear":   retry.Record("OPERATIONAL").Schedule,
		"fixed":    retry.Gate().Schedule,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Delay(3, random)
			}
		})
	}
}
