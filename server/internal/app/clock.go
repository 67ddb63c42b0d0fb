package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// The bounds of a node's clock.
const (
	// maxRoundTrip is how long a sample may take: half of it is how wrong it may be.
	maxRoundTrip = 250 * time.Millisecond

	// maxCorrection is how far one sample moves the clock: with one every clockEvery
	// it goes at most by a twentieth too fast or too slow.
	maxCorrection = 500 * time.Millisecond
	clockEvery    = 10 * time.Second

	// longGap is from where on a reference that is ahead is not approached but
	// stepped to, once gapSamples in a row have said so: then the machine has slept.
	// It is the longest lease of the default policy: who held one before has lost it.
	longGap    = 15 * time.Minute
	gapSamples = 2

	// loggedCorrection is from where on a correction is worth a line in the log.
	loggedCorrection = 50 * time.Millisecond

	// firstSamples is how often a start asks for a sample that is good enough.
	firstSamples = 5
)

// clock is the node's own: it says what time is shown, and by what it waits. It
// goes on as the machine's monotonic clock does, whoever sets the machine's time;
// it follows a reference in bounded steps, and never goes back. Leases, expiries
// and terms are not judged by it but by the store's (see store.Decide), which in
// an embedded store is this one, and in PostgreSQL the database's.
type clock struct {
	read   func() time.Time                         // the machine's, whose monotonic reading counts
	ask    func(context.Context) (time.Time, error) // the reference; nil: there is none
	logger *slog.Logger

	mu     sync.Mutex
	start  time.Time
	offset time.Duration // added to what has gone by since the start
	last   time.Time     // no time is said that is before it
	gaps   int           // samples in a row that were ahead by more than longGap
	figures
}

// figures are what a clock reports of itself.
type figures struct {
	ahead       time.Duration // how far the reference was ahead at the last sample
	corrections int           // that moved it
	corrected   time.Duration // by how much they did, all together
	discarded   int           // samples that took too long
}

func newClock(read func() time.Time, logger *slog.Logger) *clock {
	return &clock{read: read, logger: logger, start: read()}
}

// now is a time in whole microseconds, which is what the stores keep.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.uncorrected().Add(c.offset); t.After(c.last) {
		c.last = t
	}
	return c.last.UTC().Truncate(time.Microsecond)
}

// uncorrected is where the machine's monotonic clock stands.
func (c *clock) uncorrected() time.Time { return c.start.Add(c.read().Sub(c.start)).Round(0) }

// begin sets the clock to the reference. One that answers too slowly is left for
// later: the machine's time serves meanwhile.
func (c *clock) begin(ctx context.Context) error {
	for range firstSamples {
		ahead, good, err := c.sample(ctx)
		if err != nil {
			return err
		}
		if good {
			c.mu.Lock()
			c.offset = ahead
			c.mu.Unlock()
			return nil
		}
	}
	c.logger.Warn("the database answers too slowly to read its clock; using the machine's time meanwhile")
	return nil
}

// follow takes a sample and moves the clock towards the reference: by a bounded
// step, or over a long gap at once.
func (c *clock) follow(ctx context.Context) error {
	if c.ask == nil {
		return nil
	}
	ahead, good, err := c.sample(ctx)
	if err != nil || !good || ahead == 0 {
		return err
	}
	step := c.correct(ahead)
	if step.Abs() >= loggedCorrection {
		c.logger.Warn("clock corrected", "by", step, "left", ahead-step)
	}
	return nil
}

// correct moves the clock, and returns by how much.
func (c *clock) correct(ahead time.Duration) (step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ahead > longGap {
		c.gaps++
	} else {
		c.gaps = 0
	}
	step = min(max(ahead, -maxCorrection), maxCorrection)
	if c.gaps >= gapSamples {
		step, c.gaps = ahead, 0
	}
	c.offset += step
	c.corrections++
	c.corrected += step.Abs()
	return step
}

// since is how much time has gone by, by the machine's monotonic clock.
func (c *clock) since() time.Duration { return c.read().Sub(c.start) }

// sample asks the reference how far it is ahead. Half of the way there and back is
// taken for the way back; a sample that took too long is discarded.
func (c *clock) sample(ctx context.Context) (ahead time.Duration, good bool, err error) {
	sent := c.read()
	there, err := c.ask(ctx)
	if err != nil {
		return 0, false, err
	}
	took := c.read().Sub(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	if took < 0 || took > maxRoundTrip {
		c.discarded++
		return 0, false, nil
	}
	here := c.start.Add(sent.Sub(c.start) + took/2).Round(0)
	c.ahead = there.Sub(here.Add(c.offset))
	return c.ahead, true, nil
}

// snapshot returns the figures.
func (c *clock) snapshot() figures {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.figures
}

// timed is a store with a clock of its own, which its nodes share.
type timed interface {
	Time(ctx context.Context) (time.Time, error)
}

// setClock gives the node its clock: that of its database or, with an embedded
// store, one that the store shares and that follows whoever sets the machine's
// time slowly. A test's clock is the node's and the store's.
func (n *Node) setClock(ctx context.Context) error {
	if n.o.Now != nil {
		n.clock = newClock(n.o.Now, n.o.Logger)
		n.o.Now = store.Steady(n.o.Now)
		n.store.UseClock(n.o.Now)
		return nil
	}
	n.clock = newClock(time.Now, n.o.Logger)
	n.o.Now = n.clock.now
	if database, ok := n.store.(timed); ok {
		n.clock.ask = database.Time
	} else {
		n.clock.ask = func(context.Context) (time.Time, error) { return time.Now().Round(0), nil }
		n.store.UseClock(n.clock.now)
	}
	return n.clock.begin(ctx)
}
