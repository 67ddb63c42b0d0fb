package simulation

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Options is what a simulation is made of. [Defaults] fills them with values that
// make a plausible year.
type Options struct {
	Policy   *policy.Policy
	Registry *fault.Registry
	Seed     uint64

	// Start is when the simulated time begins, and Length how long it is: whole
	// days for a made-up stream; zero runs a history until nothing is left to happen.
	Start  time.Time
	Length time.Duration

	Mix     Mix       // what fails, if there is no history
	History []Failure // in the order of time

	// Proven is the chance that the condition of a conditional code is met.
	Proven  float64
	Workers Workers
	People  People

	// Progress, if set, is called now and then with the failures reported so far
	// and their number.
	Progress func(reported, total int)
}

// Failure is one failure of the stream.
type Failure struct {
	At         time.Time
	Table      string
	EntityID   string
	Code       recoup.Code
	Severity   recoup.Severity // empty: the code's own
	RetryAfter time.Duration
}

// Mix describes a made-up stream. Weights are relative to each other.
type Mix struct {
	Errors     int
	Hours      [24]float64 // weight of each hour of the day
	Tables     map[string]float64
	Codes      map[recoup.Code]float64
	Severities map[recoup.Severity]float64 // empty severity: the code's own
	Entities   int                         // how many different ones fail
	NoEntity   float64                     // chance that a failure names none
	Repeat     float64                     // chance that a failure is a recent one again
	RetryAfter float64                     // chance that a failure asks for a wait, of up to an hour
}

// Workers says how attempts end. What neither succeeds nor is lost nor is
// reclassified fails as before.
type Workers struct {
	Succeed    map[recoup.Class]float64 // by class
	Reclassify float64                  // chance that a failure turns out to be fatal
	Lost       float64                  // chance that a worker never answers
	Takes      time.Duration            // mean length of an attempt; zero: none
}

// People says what the owner of a parked error does on looking at it. What is
// left over to 1 is the chance that they only look.
type People struct {
	Look     time.Duration // mean time until somebody looks; zero: nobody ever does
	Resolve  float64
	Unpark   float64
	Escalate float64
	Archive  float64
}

// Defaults returns options for a made-up year under a policy: more of what
// blocks than of what does not, more passing trouble than lasting, and people
// who look every other day and decide half of the time.
func Defaults(p *policy.Policy, registry *fault.Registry) Options {
	o := Options{
		Policy: p, Registry: registry, Seed: 1,
		Start:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Length: 365 * day,
		Mix: Mix{
			Errors: 10_000, Entities: 2_500, NoEntity: 0.01, Repeat: 0.1, RetryAfter: 0.05,
			Tables: map[string]float64{"unknown.errors": 0.2}, Codes: map[recoup.Code]float64{},
			Severities: map[recoup.Severity]float64{
				recoup.SeverityNone: 14, recoup.Critical: 1, recoup.High: 2, recoup.Medium: 1, recoup.Low: 2,
			},
		},
		Proven: 0.5,
		Workers: Workers{
			Succeed: map[recoup.Class]float64{
				recoup.ClassImmediate: 0.7, recoup.ClassShortDelay: 0.5, recoup.ClassLongDelay: 0.3, recoup.ClassFatal: 0.5,
			},
			Reclassify: 0.02, Lost: 0.01, Takes: 5 * time.Second,
		},
		People: People{Look: 36 * time.Hour, Resolve: 0.25, Unpark: 0.15, Escalate: 0.1, Archive: 0.05},
	}
	for hour := range o.Mix.Hours {
		if o.Mix.Hours[hour] = 1; hour >= 8 && hour < 18 {
			o.Mix.Hours[hour] = 3
		}
	}
	for _, t := range p.Tables() {
		if o.Mix.Tables[t.Name] = 2; t.Blocks && !t.DeadLetter {
			o.Mix.Tables[t.Name] = 6
		}
	}
	for _, def := range registry.All() {
		o.Mix.Codes[def.Code] = map[recoup.Class]float64{
			recoup.ClassImmediate: 6, recoup.ClassShortDelay: 4, recoup.ClassLongDelay: 2,
			recoup.ClassConditional: 1, recoup.ClassFatal: 1,
		}[def.Class]
	}
	return o
}

const day = 24 * time.Hour

// validate reports everything in the options that makes no sense.
func (o *Options) validate() error {
	var c complaints
	c.add(o.Policy == nil || o.Registry == nil, "a policy and a registry are needed")
	c.add(o.Length < 0, "the length is %v: expected a positive duration", o.Length)
	c.chance("that a condition is proven", o.Proven)
	c.add(!slices.IsSortedFunc(o.History, byTime), "the history is not in the order of time")
	if o.History == nil {
		o.Mix.validate(&c, o.Length)
	}
	for _, class := range slices.Sorted(maps.Keys(o.Workers.Succeed)) {
		c.chance("that class "+string(class)+" succeeds", o.Workers.Succeed[class])
	}
	c.chance("that an attempt is reclassified", o.Workers.Reclassify)
	c.chance("that a worker is lost", o.Workers.Lost)
	c.add(o.Workers.Takes < 0, "attempts take %v: expected a positive duration", o.Workers.Takes)
	p := o.People
	c.add(p.Look < 0, "people look after %v: expected a positive duration", p.Look)
	c.chance("that people resolve", p.Resolve)
	c.chance("that people unpark", p.Unpark)
	c.chance("that people escalate", p.Escalate)
	c.chance("that people archive", p.Archive)
	c.chance("that people do any of this", p.Resolve+p.Unpark+p.Escalate+p.Archive)
	if len(c) > 0 {
		return fmt.Errorf("simulation: %w", errors.Join(c...))
	}
	return nil
}

func (m *Mix) validate(c *complaints, length time.Duration) {
	c.add(length <= 0 || length%day != 0, "the length is %v: expected whole days", length)
	c.add(m.Errors < 0, "%d errors: expected none or more", m.Errors)
	c.add(m.Entities < 1, "%d entities: expected at least one", m.Entities)
	c.chance("that there is no entity", m.NoEntity)
	c.chance("that a failure is repeated", m.Repeat)
	c.chance("that there is a retry_after", m.RetryAfter)
	c.weights("hours", slices.Values(m.Hours[:]))
	c.weights("tables", maps.Values(m.Tables))
	c.weights("codes", maps.Values(m.Codes))
	c.weights("severities", maps.Values(m.Severities))
}

// complaints collects what is wrong with options.
type complaints []error

func (c *complaints) add(wrong bool, format string, args ...any) {
	if wrong {
		*c = append(*c, fmt.Errorf(format, args...))
	}
}

func (c *complaints) chance(what string, p float64) {
	c.add(!(p >= 0 && p <= 1), "the chance %s is %v: expected a number from 0 to 1", what, p)
}

// weights wants weights that something can be drawn by.
func (c *complaints) weights(what string, list iter.Seq[float64]) {
	sum := 0.0
	for w := range list {
		c.add(!(w >= 0) || math.IsInf(w, 1), "%v is no weight of %s: expected a number from 0 up", w, what)
		sum += w
	}
	c.add(sum == 0, "none of the %s has a weight above 0", what)
}

func byTime(a, b Failure) int { return a.At.Compare(b.At) }
