package app

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// machine is a clock whose wall can be set, and a database beside it.
type machine struct {
	start time.Time     // with a monotonic reading
	gone  time.Duration // by the monotonic clock
	took  time.Duration // what a question to the database takes
	ahead time.Duration // what the database is ahead
}

func (m *machine) read() time.Time { return m.start.Add(m.gone) }

func (m *machine) ask(context.Context) (time.Time, error) {
	m.gone += m.took
	return m.start.Add(m.gone + m.ahead).Round(0), nil
}

func newMachine() (*machine, *clock) {
	m := &machine{start: time.Now()}
	c := newClock(m.read, slog.New(slog.DiscardHandler))
	c.ask = m.ask
	return m, c
}

func (m *machine) behind(c *clock) time.Duration {
	return m.start.Add(m.gone + m.ahead).Sub(c.now()).Round(time.Millisecond)
}

// A database that stalls for 20 s puts no node ahead: what it says after so long
// tells nothing.
func TestClockDiscardsLongRoundTrips(t *testing.T) {
	m, c := newMachine()
	if err := c.begin(t.Context()); err != nil || m.behind(c) != 0 {
		t.Fatalf("it is behind by %v, %v", m.behind(c), err)
	}
	m.took = 20 * time.Second
	if err := c.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.told(); m.behind(c) != 0 || got.discarded != 1 || got.corrections != 0 {
		t.Errorf("it is behind by %v, %+v", m.behind(c), got)
	}
}

// A reference that is suddenly five minutes off is followed in bounded steps, and
// time never goes back.
func TestClockCorrectsInBoundedSteps(t *testing.T) {
	for _, jump := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		m, c := newMachine()
		if err := c.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.ahead = jump
		last := c.now()
		for range 3 {
			m.gone += clockEvery
			if err := c.follow(t.Context()); err != nil {
				t.Fatal(err)
			}
			now := c.now()
			if d := now.Sub(last); d < clockEvery-maxCorrection || d > clockEvery+maxCorrection {
				t.Errorf("a jump of %v: in %v it went on by %v", jump, clockEvery, d)
			}
			last = now
		}
		if got := c.told(); got.corrections != 3 || got.corrected != 3*maxCorrection {
			t.Errorf("told %+v", got)
		}
		before := c.now()
		m.ahead = -time.Hour
		if err := c.follow(t.Context()); err != nil || c.now().Before(before) {
			t.Errorf("it went back to %v from %v, %v", c.now(), before, err)
		}
	}
}
