// Package simulation runs a policy over a stream of failures through virtual
// time: a year passes in seconds. The stream is made up or taken from history;
// workers and people are played by dice. What becomes of an error is decided by
// the real state machine alone.
//
// It keeps nothing but open errors and counts, reads no clock, and gives the
// same result for the same options.
package simulation

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// checkEvery is how many events pass between two looks at the context.
const checkEvery = 1024

// Run simulates and returns the counts. It ends early with the context's error,
// and with an error if the options make no sense or an error got lost on the way,
// which would be a defect of the simulation or of the state machine.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.validate(); err != nil {
		return Result{}, err
	}
	w := newWorld(o)
	if err := w.run(ctx); err != nil {
		return Result{}, err
	}
	return w.result()
}

// run merges the stream of failures with the queue of what is due. What falls
// together happens in the order of the clock's own deadlines first.
func (w *world) run(ctx context.Context) error {
	stream, total := w.stream()
	next, stop := iter.Pull(stream)
	defer stop()
	failure, more := next()
	for n := 0; more || len(w.queue) > 0; n++ {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.progress(total)
		}
		fails := more && (len(w.queue) == 0 || failure.At.Before(w.queue[0].at))
		if at := w.nextTime(fails, failure); w.beyond(at) {
			break
		} else if at.After(w.now) {
			w.now = at
		}
		var err error
		if fails {
			err = w.report(failure)
			failure, more = next()
		} else {
			err = w.happen(w.queue.pop())
		}
		if err != nil {
			return err
		}
	}
	for ; more; failure, more = next() {
		w.outcome.Beyond++
	}
	w.progress(total)
	return nil
}

func (w *world) nextTime(fails bool, f Failure) time.Time {
	if fails {
		return f.At
	}
	return w.queue[0].at
}

// beyond reports whether a time lies after the end of the simulated one.
func (w *world) beyond(t time.Time) bool { return w.Length > 0 && t.After(w.Start.Add(w.Length)) }

func (w *world) progress(total int) {
	if w.Progress != nil {
		w.Progress(w.reported, total)
	}
}

// stream returns the failures in the order of time, and how many there are.
func (w *world) stream() (iter.Seq[Failure], int) {
	if w.History != nil {
		return func(yield func(Failure) bool) {
			for _, f := range w.History {
				if !yield(f) {
					return
				}
			}
		}, len(w.History)
	}
	// The stream has dice of its own: what workers and people do does not
	// change what fails.
	return w.Mix.stream(rand.New(rand.NewPCG(w.Seed, 1)), w.Start, w.Length), w.Mix.Errors
}

// lost is returned when the books do not balance.
func lost(table string, reported, ended, open int) error {
	return fmt.Errorf("errors got lost in %s: %d reported, but %d ended and %d are open", table, reported, ended, open)
}
