package retry

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// longest is the delay of a schedule without a cap that has outgrown the clock.
const longest = time.Duration(math.MaxInt64)

// additiveShare is the part of a delay that additive jitter may add (spec 001).
const additiveShare = 0.1

// Delay returns the wait before the n-th retry; n counts from 1, and less
// counts as 1. It is never negative, never above the cap, and defined for any
// n: a delay too long to compute is the cap, or the longest duration there is.
// A fixed schedule repeats its last delay. A schedule of kind [None] has no
// delays; zero stands for them.
//
// random returns a number in [0, 1), as math/rand/v2.Float64 does. It is called
// once if the schedule has jitter, and must then not be nil; without jitter it
// is never called.
func (s Schedule) Delay(n int, random func() float64) time.Duration {
	limit := longest
	if s.Cap > 0 {
		limit = s.Cap
	}
	// Clamping comes before jitter. For full jitter that is the formula of spec
	// 002; for additive jitter it equals spec 001's, which clamps the sum.
	delay := s.plain(max(n, 1), limit)
	switch s.Jitter {
	case Full:
		return clamp(float64(delay)*unit(random), delay)
	case Additive:
		return max(delay, clamp(float64(delay)*(1+additiveShare*unit(random)), limit))
	}
	return delay
}

// plain is the n-th delay without jitter, within [0, limit].
func (s Schedule) plain(n int, limit time.Duration) time.Duration {
	switch {
	case s.Kind == Fixed && len(s.Steps) > 0:
		return min(max(s.Steps[min(n, len(s.Steps))-1], 0), limit)
	case s.Base <= 0:
		return 0
	case s.Kind == Exponential:
		return clamp(float64(s.Base)*math.Pow(s.Multiplier, float64(n-1)), limit)
	case s.Kind == Linear && s.Base > limit/time.Duration(n):
		return limit
	case s.Kind == Linear:
		return s.Base * time.Duration(n)
	}
	return 0
}

// clamp converts d to a duration within [0, limit]; what is not a number is limit.
func clamp(d float64, limit time.Duration) time.Duration {
	switch {
	case d <= 0:
		return 0
	case d < float64(limit):
		return time.Duration(d)
	}
	return limit
}

// unit draws from random and holds it to [0, 1].
func unit(random func() float64) float64 {
	switch r := random(); {
	case r >= 1:
		return 1
	case r > 0:
		return r
	}
	return 0
}

// Validate reports the first thing that makes s useless as a schedule.
func (s Schedule) Validate() error {
	switch s.Jitter {
	case "", NoJitter, Additive, Full:
	default:
		return fmt.Errorf("jitter is %q: expected %q, %q or %q", s.Jitter, NoJitter, Additive, Full)
	}
	if s.Cap < 0 {
		return fmt.Errorf("cap is %v: expected a positive duration, or zero for none", s.Cap)
	}
	switch s.Kind {
	case None:
		return nil
	case Exponential:
		if !(s.Multiplier >= 1) || math.IsInf(s.Multiplier, 1) {
			return fmt.Errorf("multiplier is %v: expected a number of at least 1", s.Multiplier)
		}
		return s.validateBase()
	case Linear:
		return s.validateBase()
	case Fixed:
		return s.validateSteps()
	}
	return fmt.Errorf("kind is %q: expected %q, %q, %q or %q", s.Kind, None, Exponential, Linear, Fixed)
}

func (s Schedule) validateBase() error {
	if s.Base <= 0 {
		return fmt.Errorf("base is %v: expected a positive duration", s.Base)
	}
	return nil
}

func (s Schedule) validateSteps() error {
	if len(s.Steps) == 0 {
		return errors.New("a fixed schedule has no steps: expected at least one")
	}
	for i, step := range s.Steps {
		if step < 0 {
			return fmt.Errorf("step %d is %v: expected zero or a positive duration", i+1, step)
		}
	}
	return nil
}
