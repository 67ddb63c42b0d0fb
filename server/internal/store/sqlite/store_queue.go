package sqlite

import (
	"slices"
	"sync"

	"github.com/recoup-dev/recoup"
)

// queue holds the verbs that wait for the writer and shares the writer between callers. The next
// verb is one of the caller for whom the writer has done the least since that caller began to wait.
// A caller with many large batches therefore waits behind callers who ask for little, and is never
// passed by for ever: whoever arrives later starts with as much as the least of those who wait.
type queue struct {
	mu     sync.Mutex
	some   sync.Cond // a verb waits, or the queue is closed
	flows  []*flow   // in order of arrival
	closed bool
}

// party is on whose behalf a verb is done: an API key, or one of the node's own jobs.
type party struct {
	key recoup.ID
	job string
}

// flow is the verbs of one party that wait or are being done.
type flow struct {
	party
	waiting []*task
	running int
	spent   int // work that was done for it, as [tx.work] counts it
	last    int // work of its last verb, which the next is expected to need
}

func newQueue() *queue {
	q := &queue{}
	q.some.L = &q.mu
	return q
}

// put adds a verb at the end of its party's flow.
func (q *queue) put(t *task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errClosed
	}
	f := q.find(t.party)
	if f == nil {
		f = &flow{party: t.party}
		if len(q.flows) > 0 {
			f.spent = slices.MinFunc(q.flows, bySpent).spent
		}
		q.flows = append(q.flows, f)
	}
	f.waiting = append(f.waiting, t)
	q.some.Signal()
	return nil
}

func (q *queue) find(p party) *flow {
	for _, f := range q.flows {
		if f.party == p {
			return f
		}
	}
	return nil
}

func bySpent(a, b *flow) int { return a.spent - b.spent }

// wait returns the next verb once there is one, or nil when the queue is closed and empty.
func (q *queue) wait() *task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if t := q.next(); t != nil {
			return t
		}
		if q.closed {
			return nil
		}
		q.some.Wait()
	}
}

// join returns the next verb if there is one that is expected to need no more work than there is
// room for.
func (q *queue) join(room int) *task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if f := q.first(); f == nil || room <= 0 || f.last > room {
		return nil
	}
	return q.next()
}

// next takes the next verb out of the queue, without those whose callers have given up.
func (q *queue) next() *task {
	for f := q.first(); f != nil; f = q.first() {
		t := f.waiting[0]
		f.waiting = f.waiting[1:]
		if t.begun.CompareAndSwap(false, true) {
			f.running++
			return t
		}
		q.forget(f)
	}
	return nil
}

// first returns the flow whose turn it is, or nil if no verb waits.
func (q *queue) first() (next *flow) {
	for _, f := range q.flows {
		if len(f.waiting) > 0 && (next == nil || f.spent < next.spent) {
			next = f
		}
	}
	return next
}

// empty reports whether no verb waits.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.first() == nil
}

// charge notes how much work a verb was.
func (q *queue) charge(t *task, work int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.find(t.party)
	f.spent += max(work, 1)
	f.last = work
}

// leave ends a verb: it is committed, or has failed.
func (q *queue) leave(t *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.find(t.party)
	f.running--
	q.forget(f)
}

// forget removes a flow that has nothing more to do.
func (q *queue) forget(f *flow) {
	if len(f.waiting) == 0 && f.running == 0 {
		q.flows = slices.DeleteFunc(q.flows, func(other *flow) bool { return other == f })
	}
}

// close lets the verbs that wait be done, and refuses others. It reports whether the queue was
// closed before.
func (q *queue) close() (again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	again, q.closed = q.closed, true
	q.some.Signal()
	return again
}
