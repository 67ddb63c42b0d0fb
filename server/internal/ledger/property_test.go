package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// plan is a run of a writer: how its store fails and what its producers send. It is
// drawn before the bubble in which it runs.
type plan struct {
	options  ledger.Options
	failures []string // of the first calls of the store
	batches  []sent
	patience time.Duration // of closing
}

// sent is one batch of a producer, after a pause.
type sent struct {
	producer int
	pause    time.Duration
	events   []store.Event
	wait     bool
}

func drawPlan(t *rapid.T) plan {
	p := plan{
		options: ledger.Options{
			BatchSize: rapid.IntRange(1, 20).Draw(t, "batch size"), Flushers: rapid.IntRange(1, 2).Draw(t, "flushers"),
			MaxEvents: rapid.IntRange(20, 60).Draw(t, "bound"), WaitLimit: time.Second,
		},
		failures: rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "away", "busy", "unknown", "done", "broken"}), 0, 30).Draw(t, "failures"),
		patience: time.Duration(rapid.IntRange(0, 20).Draw(t, "patience")) * time.Second,
	}
	source := newEvents()
	for range rapid.IntRange(1, 30).Draw(t, "batches") {
		s := sent{
			producer: rapid.IntRange(0, 3).Draw(t, "producer"), wait: rapid.Bool().Draw(t, "wait"),
			pause:  time.Duration(rapid.IntRange(0, 40).Draw(t, "pause")) * time.Millisecond,
			events: source.make(rapid.IntRange(0, 20).Draw(t, "events")),
		}
		for i := range s.events {
			if rapid.IntRange(0, 30).Draw(t, "poison") == 0 {
				s.events[i].Service = poison
			}
		}
		p.batches = append(p.batches, s)
	}
	return p
}

func (p plan) fail(n int) (applied bool, err error) {
	if n == 0 || n > len(p.failures) {
		return false, nil
	}
	switch p.failures[n-1] {
	case "away":
		return false, errAway
	case "busy":
		return false, errBusy
	case "unknown":
		return false, errUnknown
	case "done":
		return true, errUnknown
	case "broken":
		return false, errBroken
	}
	return false, nil
}

// run returns what went wrong.
func (p plan) run(t *testing.T) (problem error) {
	f, o := newFake(p.fail), p.options
	o.Store, o.Tally, o.Now, o.Random = f, ledger.NewTally(), time.Now, func() float64 { return 0.5 }
	w, err := ledger.NewWriter(o)
	if err != nil {
		return err
	}
	var producers sync.WaitGroup
	var mu sync.Mutex
	for producer := range 4 {
		producers.Go(func() {
			for _, s := range p.batches {
				if s.producer != producer {
					continue
				}
				time.Sleep(s.pause)
				r, err := w.Append(t.Context(), s.events)
				if err != nil || !s.wait || r.Wait(t.Context()) != nil {
					continue
				}
				if got := f.has(s.events); got != len(s.events) {
					mu.Lock()
					problem = fmt.Errorf("of %d acknowledged events %d are there", len(s.events), got)
					mu.Unlock()
				}
			}
		})
	}
	producers.Wait()
	if problem != nil {
		return problem
	}
	return p.end(w, f)
}

// end closes the writer and holds its books to the store.
func (p plan) end(w *ledger.Writer, f *fake) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.patience)
	defer cancel()
	err := w.Close(ctx)
	s := w.Stats()
	dropped := s.Dropped[ledger.DropRefusedByStore] + s.Dropped[ledger.DropStoreFailed]
	waited := slices.ContainsFunc(p.batches, func(s sent) bool { return s.wait }) // their producers are answered, and Close does not count them
	short := s.Lost > 0 || sum(f.look().drops) < dropped
	switch {
	case err != nil && !short, err == nil && short && !waited:
		return fmt.Errorf("closed with %v: %+v, drops %v", err, s, f.look().drops)
	case s.Accepted != s.Written+s.Duplicates+s.Lost+dropped || s.Held != 0 || s.Bytes != 0:
		return fmt.Errorf("the books are wrong: %+v", s)
	case !short && int64(f.look().rows) != s.Written+s.Duplicates: // what was given up may be there: its outcome is unknown
		return fmt.Errorf("%d events are there: %+v", f.look().rows, s)
	}
	return nil
}

// TestWriterKeepsItsWord runs drawn plans: what was acknowledged is there, every
// accepted event is accounted for once, and the writer ends.
func TestWriterKeepsItsWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = p.run(t) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

// TestWriterClosedInAHurry runs plans that once went wrong: what is left when closing
// cannot wait is reported as lost, and what could be written is not.
func TestWriterClosedInAHurry(t *testing.T) {
	t.Parallel()
	source := newEvents()
	poisoned := func(n int) []store.Event {
		events := source.make(n)
		events[0].Service = poison
		return events
	}
	options := func(size int) ledger.Options {
		return ledger.Options{BatchSize: size, Flushers: 1, MaxEvents: 60, WaitLimit: time.Second}
	}
	for name, p := range map[string]plan{
		"nobody waits for the count of what was refused": {options: options(1), batches: []sent{{events: poisoned(1), wait: true}}},
		"the count of what was refused is written once": {
			options: options(2), failures: []string{"done", "", "away", "unknown"}, patience: time.Second,
			batches: []sent{{events: poisoned(16), wait: true}, {producer: 1, events: poisoned(20)}},
		},
		"what a flusher holds is lost or written": {
			options: options(3), failures: []string{"done", "", "away", "away", "away", "away"}, batches: []sent{{events: source.make(12)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if problem := p.run(t); problem != nil {
					t.Error(problem)
				}
			})
		})
	}
}
