package engine

import (
	"context"
	"sync"

	"recoup/internal/store"
)

// maxRound is how many checks one question answers.
const maxRound = 64

// desk answers the gate checks that come together with one question to the store:
// where many ask at once, the way to the database costs more than what is read
// there. One question is under way at a time, and while it is, checks gather for
// the next: a second one would only make both smaller. Nothing is remembered.
// Every check is answered by a question that is asked after it has come, so that a
// gate is never said to be open once a failure that blocks it was acknowledged.
type desk struct {
	ask func(ctx context.Context, entities []string) ([][]store.Blocker, error)

	mu     sync.Mutex
	rounds []*round // those that are not asked yet; the last one takes more
	asking bool
}

// round is a question and those who wait for its answer.
type round struct {
	entities []string
	waiting  int // who has not left; the desk's lock guards it
	ctx      context.Context
	cancel   context.CancelFunc

	done  chan struct{} // closed when the rest is known
	found [][]store.Blocker
	err   error
}

// check returns what blocks an entity. It asks by itself if it may, and otherwise
// waits for the answer to the next question.
func (d *desk) check(ctx context.Context, entity string) ([]store.Blocker, error) {
	r, place := d.join(entity)
	if r == nil {
		defer d.done()
		found, err := d.ask(ctx, []string{entity})
		if err != nil {
			return nil, err
		}
		return found[0], nil
	}
	select {
	case <-r.done:
		if r.err != nil {
			return nil, r.err
		}
		return r.found[place], nil
	case <-ctx.Done():
		d.leave(r)
		return nil, context.Cause(ctx)
	}
}

// join puts a check into the round that is asked next. It returns none if there is
// nothing to wait for: then the caller asks.
func (d *desk) join(entity string) (r *round, place int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asking {
		d.asking = true
		return nil, 0
	}
	if n := len(d.rounds); n > 0 && len(d.rounds[n-1].entities) < maxRound {
		r = d.rounds[n-1]
	} else {
		r = &round{done: make(chan struct{})}
		r.ctx, r.cancel = context.WithCancel(context.Background())
		d.rounds = append(d.rounds, r)
	}
	r.entities = append(r.entities, entity)
	r.waiting++
	return r, len(r.entities) - 1
}

// done ends a question of one's own. Whoever has come meanwhile is answered next.
func (d *desk) done() {
	if r := d.next(); r != nil {
		go d.run(r)
	}
}

// leave gives up waiting. A question whose answer nobody wants any more ends.
func (d *desk) leave(r *round) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
	}
}

// run asks round after round until none is left.
func (d *desk) run(r *round) {
	for ; r != nil; r = d.next() {
		r.found, r.err = d.ask(r.ctx, r.entities)
		r.cancel()
		close(r.done)
	}
}

// next returns the round to be asked now, or none, and then nobody is asking.
func (d *desk) next() *round {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.rounds) == 0 {
		d.asking = false
		return nil
	}
	r := d.rounds[0]
	d.rounds = d.rounds[1:]
	return r
}
