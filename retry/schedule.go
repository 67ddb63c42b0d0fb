// Package retry decides how long to wait before trying again, and tries.
//
// A [Schedule] is data: the same type holds the request-level policies of spec
// 001, the stage policy of spec 002, the record policies of spec 000 and the
// gate of spec 004. Delays are computed attempt by attempt; randomness and time
// come in as parameters, so every schedule can be tested exactly.
package retry

import "time"

// Kind is the shape of a schedule.
type Kind string

// The shapes of spec 000 to 004.
const (
	None        Kind = "none"        // no automatic retry
	Exponential Kind = "exponential" // base × multiplier^(n-1)
	Linear      Kind = "linear"      // base × n
	Fixed       Kind = "fixed"       // the n-th of a list
)

// Jitter says how randomness enters a delay.
type Jitter string

// The jitters of spec 001 and 002.
const (
	NoJitter Jitter = "none"
	Additive Jitter = "additive" // up to a tenth of the delay is added
	Full     Jitter = "full"     // anything from nothing to the whole delay
)

// Schedule computes the wait before each retry.
type Schedule struct {
	Kind       Kind            `json:"kind"`
	Base       time.Duration   `json:"base,omitempty"`
	Multiplier float64         `json:"multiplier,omitempty"`
	Cap        time.Duration   `json:"cap,omitempty"` // zero: none
	Steps      []time.Duration `json:"steps,omitempty"`
	Jitter     Jitter          `json:"jitter,omitempty"`
}
