package ledger

import (
	"slices"
	"time"
)

// Stats is what a writer has done and what it holds. Every accepted event is in
// exactly one of Held, Published, Written, Duplicates, Lost and, of Dropped, what the
// store refused or failed at.
type Stats struct {
	Held   int           // events accepted and not yet decided
	Bytes  int64         // what they take, estimated
	Oldest time.Duration // how long the oldest of them has waited

	Accepted   int64
	Published  int64 // brought to the transport
	Direct     int64 // of those written or known: brought to the store because the transport was away
	Written    int64
	Duplicates int64 // known already, also from a try whose outcome was unknown
	Lost       int64 // given up when the writer was closed
	Refused    int64 // not accepted, because there was no room or the writer was closed

	Dropped  map[string]int64 // by reason, the governor's included
	Failures int64            // tries of the store that failed and were repeated
	Away     time.Duration    // how long the store has been failing; zero: it is not
	Flushes  Durations
}

// Durations is a histogram of how long inserts took.
type Durations struct {
	Count  uint64
	Sum    time.Duration
	Within []uint64 // by index of [DurationBounds]: how many took at most as long
}

// DurationBounds returns the bounds of [Durations], ascending.
func DurationBounds() []time.Duration {
	const ms = time.Millisecond
	return []time.Duration{ms, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 50 * ms, 100 * ms, 200 * ms, 500 * ms,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second}
}

// sums is what is counted since the writer was made.
type sums struct {
	accepted, published, direct, written, duplicates, lost, broken, refused, failures int64
	flushes                                                                           Durations
}

// add counts n events that are safe.
func (s *sums) add(r written, n int64) {
	if r.way == byTransport {
		s.published += n
		return
	}
	if r.way == pastTransport {
		s.direct += n
	}
	s.written += int64(r.added)
	s.duplicates += n - int64(r.added)
}

func (w *Writer) observe(took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := &w.sums.flushes
	bounds := DurationBounds()
	if d.Within == nil {
		d.Within = make([]uint64, len(bounds))
	}
	d.Count++
	d.Sum += took
	for i, bound := range bounds {
		if took <= bound {
			d.Within[i]++
		}
	}
}

// Stats returns what is known at this moment.
func (w *Writer) Stats() Stats {
	now, dropped := w.o.Now(), w.o.Tally.Totals()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Stats{
		Held: w.held, Bytes: w.bytes, Accepted: w.sums.accepted, Published: w.sums.published, Direct: w.sums.direct, Written: w.sums.written, Duplicates: w.sums.duplicates,
		Lost: w.sums.lost, Refused: w.sums.refused, Dropped: dropped, Failures: w.sums.failures, Flushes: w.sums.flushes,
	}
	s.Flushes.Within = slices.Clone(s.Flushes.Within)
	if w.trouble.code != "" {
		s.Away = now.Sub(w.trouble.since)
	}
	if at := w.oldest(); !at.IsZero() {
		s.Oldest = now.Sub(at)
	}
	return s
}

// oldest is when the oldest event was accepted that is not decided. Batches that
// are being written are older than the queue. The lock is held.
func (w *Writer) oldest() (at time.Time) {
	for _, b := range w.flying {
		if !b.since.IsZero() && (at.IsZero() || b.since.Before(at)) {
			at = b.since
		}
	}
	if at.IsZero() && len(w.queue) > 0 {
		at = w.queue[0].at
	}
	return at
}
