package client

import (
	"bytes"
	"context"
	"errors"
	"sync"
)

// backlog keeps events as lines of JSON, in order, until they are delivered: in
// a spool, or in memory.
type backlog struct {
	spool  *spool // nil: memory alone
	room   int    // events in memory
	batch  int    // events of a request
	onDisk func(error)

	mu      sync.Mutex
	batches []*batch
	held    int           // events in memory
	in, out int64         // events put into it, and done with
	changed chan struct{} // closed, and replaced, when out or trouble changes
	trouble trouble
	closed  bool // nothing is delivered any more
}

// batch is what one request carries.
type batch struct {
	n       int    // events
	size    int    // bytes in memory or in the spool
	lines   []byte // nil: they are in the spool
	at      extent // without a segment: they are in memory alone
	sending bool   // it takes no more
	key     string // idempotency key of its request
	dropped int64  // drops that its request reports to the server
}

// trouble is what is known about deliveries that fail.
type trouble struct {
	failures int64 // in total
	err      error // the last, until something is delivered
	final    bool  // trying again will not help
}

var errClosed = errors.New("the emitter is closed")

// batchBytes bounds a request.
const batchBytes = 1 << 20

func newBacklog(batch, room int) *backlog {
	return &backlog{batch: batch, room: room, changed: make(chan struct{}), onDisk: func(error) {}}
}

// open takes over what an earlier process has left in a spool.
func (b *backlog) open(dir string, limit int64) (err error) {
	b.spool, err = openSpool(dir, limit, func(seg *segment, data []byte) {
		from := int64(0)
		for end, line := range records(data) {
			seg.live++
			b.join(&batch{n: 1, size: len(line) + recordHead + 1, at: extent{seg, from, end}})
			from = end
			b.in++
		}
	})
	return err
}

// join adds a batch to the end, if possible to the last batch. The lock is held.
func (b *backlog) join(more *batch) {
	if len(b.batches) > 0 {
		last := b.batches[len(b.batches)-1]
		fits := !last.sending && last.n+more.n <= b.batch && last.size+more.size <= batchBytes
		switch {
		case !fits:
		case more.at.segment == nil && last.at.segment == nil:
			last.n, last.size, last.lines = last.n+more.n, last.size+more.size, append(last.lines, more.lines...)
			return
		case more.lines == nil && last.lines == nil && more.at.segment == last.at.segment && more.at.from == last.at.to:
			last.n, last.size, last.at.to = last.n+more.n, last.size+more.size, more.at.to
			more.at.segment.live--
			return
		}
	}
	b.batches = append(b.batches, more)
}

// put adds lines and returns how many of them there was no room for.
func (b *backlog) put(lines []byte) (lost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(lines) > 0 {
		n, size := cut(lines, b.batch)
		lost += n - b.add(n, lines[:size])
		lines = lines[size:]
	}
	return lost
}

// cut returns how many lines, and bytes, a batch may begin with.
func cut(lines []byte, most int) (n, size int) {
	for line := range bytes.Lines(lines) {
		if n > 0 && (n == most || size+len(line) > batchBytes) {
			break
		}
		n, size = n+1, size+len(line)
	}
	return n, size
}

// add keeps n lines, and returns how many it could keep. What the disk does not
// take is kept in memory. The lock is held.
func (b *backlog) add(n int, lines []byte) int {
	more := &batch{n: n, size: len(lines)}
	var err error
	if b.spool != nil {
		if more.at, err = b.spool.append(lines); errors.Is(err, errSpoolFull) {
			return 0
		} else if err != nil {
			b.onDisk(err)
		}
	}
	if more.at.segment == nil {
		if b.held >= b.room {
			return 0
		}
		more.n, more.size = cut(lines, min(n, b.room-b.held))
		more.lines = bytes.Clone(lines[:more.size])
		b.held += more.n
	}
	b.in += int64(more.n)
	b.join(more)
	return more.n
}

// head returns the oldest batch and its lines, or nil if there is none. It takes
// no more events from then on. A batch that cannot be read is not there.
func (b *backlog) head() (*batch, []byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.batches) == 0 {
		return nil, nil, nil
	}
	first := b.batches[0]
	first.sending = true
	if first.lines != nil {
		return first, first.lines, nil
	}
	lines, err := b.spool.read(first.at)
	return first, lines, err
}

// replace puts parts of the oldest batch in its place; none: it is done with.
// What is in no part is done with too.
func (b *backlog) replace(parts ...[]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := b.batches[0]
	var rest []*batch
	kept := 0
	for _, lines := range parts {
		n := bytes.Count(lines, []byte{'\n'})
		rest = append(rest, &batch{n: n, size: len(lines), lines: lines, at: first.at})
		kept += n
	}
	if len(rest) > 0 {
		rest[0].dropped = first.dropped
	}
	b.batches = append(rest, b.batches[1:]...)
	b.out += int64(first.n - kept)
	if seg := first.at.segment; seg == nil {
		b.held -= first.n - kept
	} else {
		seg.live += len(rest)
		b.spool.release(seg)
	}
	b.trouble.err, b.trouble.final = nil, false
	b.wake()
}

// failed notes that a delivery failed.
func (b *backlog) failed(err error, final bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble = trouble{failures: b.trouble.failures + 1, err: err, final: final}
	b.wake()
}

// wake wakes those who wait. The lock is held.
func (b *backlog) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// mark is a moment in the life of a backlog.
type mark struct{ in, failures int64 }

func (b *backlog) mark() mark {
	b.mu.Lock()
	defer b.mu.Unlock()
	return mark{b.in, b.trouble.failures}
}

// await returns once everything is done with that was in the backlog at a
// moment. It gives up when ctx ends, or when a delivery has failed since in a
// way that trying again does not mend.
func (b *backlog) await(ctx context.Context, since mark) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.out < since.in {
		switch t := b.trouble; {
		case b.closed:
			return b.undelivered(since.in, errors.Join(errClosed, t.err))
		case t.final && t.failures > since.failures:
			return b.undelivered(since.in, t.err)
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
			b.mu.Lock()
		case <-ctx.Done():
			b.mu.Lock()
			if b.out < since.in {
				return b.undelivered(since.in, errors.Join(context.Cause(ctx), b.trouble.err))
			}
		}
	}
	return nil
}

func (b *backlog) undelivered(target int64, err error) error {
	return &UndeliveredError{Events: int(target - b.out), Spooled: b.spool != nil && b.held == 0, Err: err}
}

// waiting returns how many events are not done with.
func (b *backlog) waiting() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.in - b.out
}

func (b *backlog) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
	if b.spool == nil {
		return nil
	}
	return b.spool.close()
}
