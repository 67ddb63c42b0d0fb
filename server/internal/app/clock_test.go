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

// A database that stalls for 20 s puts no node ahead: a sample that took so long is
// discarded.
func TestClockDiscardsLongRoundTrips(t *testing.T) {
	m, c := newMachine()
	if err := c.begin(t.Context()); err != nil || m.behind(c) != 0 {
		t.Fatalf("it is behind by %v, %v", m.behind(c), err)
	}
	m.took = 20 * time.Second
	if err := c.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.snapshot(); m.behind(c) != 0 || got.discarded != 1 || got.corrections != 0 {
		t.Errorf("it is behind by %v, %+v", m.behind(c), got)
	}
}

// sampled lets a sample's time go by, and takes it. It returns by how much more than
// that the clock went on.
func (m *machine) sampled(t *testing.T, c *clock) time.Duration {
	t.Helper()
	before := c.now()
	m.gone += clockEvery
	if err := c.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.now().Sub(before) - clockEvery
}

// After a sleep of hours the clock is right at once, when the second sample in a row
// has said so; a reference that is wrong for one sample, or never by more than the
// longest lease, is only approached, and so is one that went back.
func TestClockStepsOverALongSleep(t *testing.T) {
	const step = maxCorrection
	for _, c := range []struct {
		name  string
		ahead []time.Duration // of the reference, sample by sample
		went  []time.Duration // beyond the time that went by
	}{
		{"a night", []time.Duration{8 * time.Hour, 8 * time.Hour, 8 * time.Hour}, []time.Duration{step, 8*time.Hour - step, 0}},
		{"for one sample", []time.Duration{8 * time.Hour, 0, 8 * time.Hour, 0}, []time.Duration{step, -step, step, -step}},
		{"less than a lease", []time.Duration{longGap, longGap, longGap}, []time.Duration{step, step, step}},
		{"just more than one", []time.Duration{longGap + time.Minute, longGap + time.Minute, longGap + time.Minute}, []time.Duration{step, longGap + time.Minute - step, 0}},
		{"back", []time.Duration{-8 * time.Hour, -8 * time.Hour, -8 * time.Hour}, []time.Duration{-step, -step, -step}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, clock := newMachine()
			if err := clock.begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, ahead := range c.ahead {
				m.ahead = ahead
				if got := m.sampled(t, clock); got != c.went[i] {
					t.Errorf("sample %d: it was corrected by %v, want %v", i+1, got, c.went[i])
				}
			}
		})
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
		for range 3 {
			if d := m.sampled(t, c); d.Abs() > maxCorrection {
				t.Errorf("a jump of %v: in %v it was corrected by %v", jump, clockEvery, d)
			}
		}
		if got := c.snapshot(); got.corrections != 3 || got.corrected != 3*maxCorrection {
			t.Errorf("notified %+v", got)
		}
		before := c.now()
		m.ahead = -time.Hour
		if err := c.follow(t.Context()); err != nil || c.now().Before(before) {
			t.Errorf("it went back to %v from %v, %v", c.now(), before, err)
		}
	}
}
