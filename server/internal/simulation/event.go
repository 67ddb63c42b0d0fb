package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// event is the next thing that happens to an open error.
type event struct {
	at      time.Time
	order   uint64 // of what falls together, the first scheduled comes first
	item    *item
	version uint32
	act     act
	input   lifecycle.Input // of the clock
}

// act is who makes an event happen.
type act uint8

const (
	byClock  act = iota
	byClaim      // a worker claims what is due
	byAnswer     // a worker reports
	byPerson     // the owner looks
)

// settle brings up to date what workers and people are about to do with an
// error, and schedules whatever comes first. An error that nothing will ever
// happen to is counted as open for good and let go.
func (w *world) settle(it *item) {
	if it.State == recoup.Archived {
		return
	}
	if it.LeaseToken.IsZero() {
		it.answer = time.Time{}
	}
	waits := it.State == recoup.Parked || it.State == recoup.Escalated
	if waits && it.look.IsZero() && w.People.Look > 0 {
		it.look = w.after(w.People.Look)
	}
	it.version++
	e, ok := w.next(it)
	if !ok {
		it.tally.Open[it.State]++
		return
	}
	w.ids++
	e.order = w.ids
	w.queue.push(e)
}

// next returns the earliest of what the clock, a worker and a person will do.
func (w *world) next(it *item) (event, bool) {
	e := event{item: it, version: it.version}
	if deadlines := lifecycle.Deadlines(w.Policy, &it.Error); len(deadlines) > 0 {
		first := deadlines[0]
		e.at, e.input = first.At, first.Input
		if first.Input == nil {
			e.act = byClaim
		}
	}
	e.earlier(it.answer, byAnswer)
	e.earlier(it.look, byPerson)
	return e, !e.at.IsZero()
}

func (e *event) earlier(at time.Time, by act) {
	if !at.IsZero() && (e.at.IsZero() || at.Before(e.at)) {
		e.at, e.act = at, by
	}
}

// farOff is the longest wait that is drawn.
const farOff = 100 * 365 * day

// after draws a time from now on: waits of the given mean, most of them shorter.
func (w *world) after(mean time.Duration) time.Time {
	return w.now.Add(time.Duration(min(w.dice.ExpFloat64()*float64(mean), float64(farOff))))
}

// happen lets an event happen, unless its error has moved on.
func (w *world) happen(e event) error {
	it := e.item
	if e.version != it.version {
		return nil
	}
	var err error
	switch e.act {
	case byClaim:
		err = w.claim(it)
	case byAnswer:
		err = w.answer(it)
	case byPerson:
		err = w.look(it)
	default:
		err = w.step(it, "", e.input)
	}
	if err != nil {
		return fmt.Errorf("at %s, error %s: %w", w.now.Format(time.RFC3339), it.ID, err)
	}
	w.settle(it)
	return nil
}

// claim gives a due error to a worker, who will answer, or not.
func (w *world) claim(it *item) error {
	if err := w.step(it, lifecycle.Claimed, lifecycle.Claim{Token: w.id(), Worker: "worker"}); err != nil {
		return err
	}
	if w.dice.Float64() >= w.Workers.Lost {
		it.answer = w.after(w.Workers.Takes)
	}
	return nil
}

// answer ends an attempt: it succeeds, fails for good, or fails as before.
func (w *world) answer(it *item) error {
	if w.dice.Float64() < w.Workers.Succeed[it.Class] {
		return w.step(it, lifecycle.Succeeded, lifecycle.Succeed{Token: it.LeaseToken})
	}
	failure := lifecycle.Failure{Code: it.Code, Class: it.Class, Category: it.Category}
	if w.dice.Float64() < w.Workers.Reclassify {
		failure = lifecycle.Failure{Code: fault.CodeValidationError, Class: recoup.ClassFatal, Category: recoup.Operational}
	}
	if t, ok := w.Policy.Table(it.Table); ok {
		failure.Streak = w.streak(t, it.EntityID, failure.Code)
	}
	return w.step(it, lifecycle.Failed, lifecycle.Fail{Token: it.LeaseToken, Failure: failure})
}

const person = "owner"

// look lets the owner of a parked error act. What the machine refuses them, such
// as to unpark where nothing is retried, leaves it at a look.
func (w *world) look(it *item) error {
	it.look = time.Time{}
	p, x := w.People, w.dice.Float64()
	kind, in := lifecycle.Reviewing, lifecycle.Input(lifecycle.Review{By: person})
	switch {
	case x < p.Resolve:
		kind, in = lifecycle.Resolving, lifecycle.Resolve{By: person}
	case x < p.Resolve+p.Unpark:
		kind, in = lifecycle.Unparking, lifecycle.Unpark{By: person}
	case x < p.Resolve+p.Unpark+p.Escalate:
		kind, in = lifecycle.Escalating, lifecycle.Escalate{By: person}
	case x < p.Resolve+p.Unpark+p.Escalate+p.Archive:
		kind, in = lifecycle.Archiving, lifecycle.ArchiveNow{By: person}
	}
	err := w.step(it, kind, in)
	var refusal *lifecycle.Refusal
	if errors.As(err, &refusal) {
		return w.step(it, lifecycle.Reviewing, lifecycle.Review{By: person})
	}
	return err
}

// queue is a heap of events, the earliest first. It is written out because the
// standard library's would put every event into an interface.
type queue []event

func (q queue) less(i, j int) bool {
	if c := q[i].at.Compare(q[j].at); c != 0 {
		return c < 0
	}
	return q[i].order < q[j].order
}

func (q *queue) push(e event) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *queue) pop() event {
	h := *q
	top, last := h[0], len(h)-1
	h[0], h[last] = h[last], event{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if right := child + 1; right < last && h.less(right, child) {
			child = right
		}
		if !h.less(child, i) {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	return top
}
