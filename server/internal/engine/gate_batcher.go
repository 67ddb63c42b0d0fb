package engine

import (
	"context"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// maxRound is how many checks one question answers.
	maxRound = 64

	// stuckAfter is how long the next question waits for the one that is under way;
	// maxStuck is how many are passed: a database that answers nobody is not given
	// every connection that there is.
	stuckAfter = 250 * time.Millisecond
	maxStuck   = 4

	// maxAsking is how long a question may take. Its callers need no time limit of
	// their own.
	maxAsking = 30 * time.Second
)

// gateBatcher answers the gate checks that come together with one question to the store:
// where many ask at once, the way to the database costs more than what is read
// there. One question is under way at a time, and while it is, checks gather for
// the next: a second one would only make both smaller. One that is stuck, as on a
// connection that leads nowhere, is passed. Nothing is remembered.
// Every check is answered by a question that is asked after it has come, so that a
// gate is never said to be open once a failure that blocks it was acknowledged.
type gateBatcher struct {
	ask func(ctx context.Context, entities []string) ([][]store.Blocker, error)

	mu     sync.Mutex
	rounds []*round // those that are not asked yet; the last one takes more
	asking bool     // a question is under way that is not stuck
	stuck  int
}

// question is one that is under way. The batcher's lock guards it.
type question struct {
	timer        *time.Timer
	ended, stuck bool
}

// round is a question and those who wait for its answer.
type round struct {
	entities []string
	waiting  int // who has not left; the batcher's lock guards it
	ctx      context.Context
	cancel   context.CancelFunc

	done  chan struct{} // closed when the rest is known
	found [][]store.Blocker
	err   error
}

// check returns what blocks an entity. It asks by itself if it may, and otherwise
// waits for the answer to the next question.
func (d *gateBatcher) check(ctx context.Context, entity string) ([]store.Blocker, error) {
	r, place := d.join(entity)
	if r == nil {
		defer d.done(d.begin())
		ctx, cancel := context.WithTimeout(ctx, maxAsking)
		defer cancel()
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
func (d *gateBatcher) join(entity string) (r *round, place int) {
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
		r.ctx, r.cancel = context.WithTimeout(context.Background(), maxAsking)
		d.rounds = append(d.rounds, r)
	}
	r.entities = append(r.entities, entity)
	r.waiting++
	return r, len(r.entities) - 1
}

// begin begins a question, which is passed by the next if it takes too long.
func (d *gateBatcher) begin() *question {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := &question{}
	q.timer = time.AfterFunc(stuckAfter, func() { d.pass(q) })
	return q
}

// pass has the next question asked beside one that is stuck.
func (d *gateBatcher) pass(q *question) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case q.ended:
	case d.stuck == maxStuck:
		q.timer.Reset(stuckAfter)
	default:
		q.stuck = true
		d.stuck++
		d.proceed()
	}
}

// done ends a question. Whoever has come meanwhile is answered next.
func (d *gateBatcher) done(q *question) {
	q.timer.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.ended = true; q.stuck {
		d.stuck-- // it was passed: another one sees to the next
		return
	}
	d.proceed()
}

// proceed has the next round asked. If there is none, nobody is asking. The caller has
// the lock.
func (d *gateBatcher) proceed() {
	if d.asking = len(d.rounds) > 0; !d.asking {
		return
	}
	r := d.rounds[0]
	d.rounds = d.rounds[1:]
	go d.run(r)
}

// leave gives up waiting. A question whose answer nobody wants any more ends.
func (d *gateBatcher) leave(r *round) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
	}
}

// run asks a round.
func (d *gateBatcher) run(r *round) {
	defer d.done(d.begin())
	r.found, r.err = d.ask(r.ctx, r.entities)
	r.cancel()
	close(r.done)
}
