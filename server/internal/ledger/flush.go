package ledger

import (
	"errors"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// batch is what one flusher writes at a time.
type batch struct {
	events []store.Event
	runs   []run // whose they are, in order
	buffer []store.Event
	since  time.Time // when the oldest was accepted; zero: there is none
}

// run is a number of neighbouring events of one receipt.
type run struct {
	receipt *Receipt
	n       int
}

// errGivenUp is why events are lost that closing could not wait for.
var errGivenUp = errors.New("the ledger was closed before these events were written")

// flushAll writes batch after batch until the writer is closed and empty.
func (w *Writer) flushAll(b *batch) {
	for w.take(b) {
		w.write(b, 0, len(b.events))
		w.release(b)
	}
}

// take waits until there is a batch worth writing. It returns false when there will
// be no more.
func (w *Writer) take(b *batch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed && !w.ripe && w.queued < w.batchSize() {
		if w.queued > 0 && !w.armed { // the transport has gone, and with it what was a batch
			w.arm(w.o.BatchDelay)
		}
		w.ready.Wait()
	}
	if w.queued == 0 {
		return false // closed, or there would have been something to wait for
	}
	w.fill(b)
	w.ripe, w.armed = false, false
	w.timer.Stop()
	switch {
	case w.queued >= w.batchSize() || w.closed:
		w.ready.Signal() // there is work for another flusher
	case w.urgent > 0:
		w.arm(w.o.UrgentDelay)
	case w.queued > 0:
		w.arm(w.o.BatchDelay)
	}
	return true
}

// fill moves events from the head of the queue into a batch. The events of one
// receipt are used where they are; those of several are brought together.
func (w *Writer) fill(b *batch) {
	b.since = w.queue[0].at
	for room := w.batchSize(); room > 0 && len(w.queue) > 0; {
		r := w.queue[0]
		part := r.events[r.taken:min(r.taken+room, r.total)]
		b.add(r, part)
		room -= len(part)
		w.queued -= len(part)
		if r.taken += len(part); r.taken < r.total {
			break
		}
		w.queue[0], w.queue = nil, w.queue[1:]
		if r.urgent {
			w.urgent--
		}
	}
}

func (b *batch) add(r *Receipt, part []store.Event) {
	b.runs = append(b.runs, run{r, len(part)})
	switch len(b.runs) {
	case 1:
		b.events = part
	case 2:
		b.buffer = append(append(b.buffer[:0], b.events...), part...)
		b.events = b.buffer
	default:
		b.buffer = append(b.buffer, part...)
		b.events = b.buffer
	}
}

// release empties a batch, so that it holds on to nothing.
func (w *Writer) release(b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(b.runs)
	clear(b.buffer)
	*b = batch{runs: b.runs[:0], buffer: b.buffer[:0]}
}

// write adds a part of a batch. One that the store refuses is halved until what is
// left is the event that it refuses.
func (w *Writer) write(b *batch, from, to int) {
	result, err := w.insert(b.events[from:to])
	if middle := (from + to) / 2; Poisonous(err) && middle > from {
		w.write(b, from, middle)
		w.write(b, middle, to)
		return
	}
	if err != nil {
		w.giveUp(b, from, to, err)
		return
	}
	w.finish(b, from, to, nil, func(s *sums) { s.add(result, int64(to-from)) })
}

// giveUp counts events that cannot be written.
func (w *Writer) giveUp(b *batch, from, to int, err error) {
	n := int64(to - from)
	if errors.Is(err, errGivenUp) {
		w.finish(b, from, to, err, func(s *sums) {
			s.lost += n
			s.broken += b.acknowledged(from, to)
		})
		return
	}
	reason := DropStoreFailed
	if Poisonous(err) {
		reason = DropRefusedByStore
	}
	w.o.Logger.Error("ledger dropped events", "reason", reason, "events", n, "first_id", b.events[from].ID.String(),
		"first_code", string(b.events[from].Code), "error", err)
	w.o.Tally.Add(w.o.Now(), reason, n)
	w.finish(b, from, to, err, func(*sums) {})
}

// acknowledged counts the events of a part of a batch whose producers were not asked to
// wait: they have an answer. The others get an error. The lock is held.
func (b *batch) acknowledged(from, to int) (n int64) {
	at := 0
	for _, run := range b.runs {
		if part := min(to, at+run.n) - max(from, at); part > 0 && run.receipt.finished == nil {
			n += int64(part)
		}
		at += run.n
	}
	return n
}

// finish records the result of a part of a batch: written, or lost for a cause.
func (w *Writer) finish(b *batch, from, to int, cause error, count func(*sums)) {
	bytes := sizes(b.events[from:to])
	w.mu.Lock()
	defer w.mu.Unlock()
	count(&w.sums)
	w.held -= to - from
	w.bytes -= bytes
	at := 0
	for _, run := range b.runs {
		if n := min(to, at+run.n) - max(from, at); n > 0 {
			run.receipt.finish(n, cause)
		}
		at += run.n
	}
}

// finish records the result of n events of a receipt. The lock is held.
func (r *Receipt) finish(n int, cause error) {
	r.pending -= n
	if cause != nil {
		r.lost += n
		r.cause = cause
	}
	if r.pending > 0 {
		return
	}
	r.events = nil
	if r.finished != nil {
		close(r.finished)
	}
}
