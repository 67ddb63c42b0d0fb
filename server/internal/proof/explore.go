package proof

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// epoch is when every life begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// longestWait bounds how often the clock may act on one error before it must
// have ended: several times what any ladder and its reminders need.
const longestWait = 64

// node is one error at one moment of one possible life.
type node struct {
	e        recoup.Error
	at       time.Time
	from     *node // nil: the report
	what     string
	repeated bool // the failure was reported again on the way here
	claims   int  // since the report, or since a person last unparked it
	order    int
	depth    int // steps since the report
}

// shape is what of an error counts for what can happen next, times aside. Lives
// that reach the same shape are one: the earliest is followed, because whoever
// comes later only has less time left.
type shape struct {
	state       recoup.State
	disposition recoup.Disposition
	tier        int
	retries     int
	claims      int
	leased      bool
	repeated    bool
}

func (n *node) shape() shape {
	return shape{
		n.e.State, n.e.Disposition, n.e.EscalationLevel, n.e.RetryCount, n.claims,
		!n.e.LeaseToken.IsZero(), n.repeated,
	}
}

// walk explores one life in the order of virtual time.
type walk struct {
	*checker
	life  *life
	seen  map[shape]bool
	queue frontier
	faults
}

// explore follows everything that can become of an error: what people, workers
// and the clock can do to it, and its being reported again.
func (c *checker) explore(l *life) {
	w := &walk{checker: c, life: l, seen: map[shape]bool{}, faults: faults{}}
	for _, in := range l.reports() {
		w.try(nil, in, epoch, "report "+describe(l.question))
	}
	for len(w.queue) > 0 {
		w.expand(w.queue.pop())
	}
	c.states += len(w.seen)
}

// take lets the machine take one step. It returns nil if the machine refuses.
func (c *checker) take(from *node, in lifecycle.Input, at time.Time, what string) (*node, lifecycle.Effects) {
	var current *recoup.Error
	if from != nil {
		current = &from.e
	}
	next, effects, err := c.step(c.policy, current, in, at)
	c.steps++
	if err != nil {
		return nil, effects
	}
	n := &node{e: next, at: at, from: from, what: what, order: c.steps}
	n.repeated = effects.Superseded != nil
	if from != nil {
		n.repeated, n.depth = n.repeated || from.repeated, from.depth+1
		n.claims = claims(from.claims, in)
	}
	return n, effects
}

// claims counts the attempts that a budget pays for. The machine's own count is
// what is to be proved, so it is not asked.
func claims(before int, in lifecycle.Input) int {
	switch in.(type) {
	case lifecycle.Claim:
		return before + 1
	case lifecycle.Unpark:
		return 0
	}
	return before
}

// try takes a step, holds its result to the invariants and, if it leads to
// something new, puts it on the list of what is to be explored. Beyond its budget
// an error is not followed: there might be no end to that.
func (w *walk) try(from *node, in lifecycle.Input, at time.Time, what string) *node {
	n, effects := w.take(from, in, at, what)
	if n == nil {
		return nil
	}
	w.judge(n, &effects)
	if n.e.State.Open() && !n.overspent() && !w.seen[n.shape()] {
		w.seen[n.shape()] = true
		w.queue.push(n)
	}
	return n
}

func (w *walk) expand(n *node) {
	w.people(n)
	w.workers(n)
	if n.e.EntityID != "" {
		w.try(n, w.life.reports()[0], n.at, "the same failure again")
	}
	if !w.life.table.Infinite() {
		w.wait(n)
	}
}

// people tries what a person can do, and finds out whether any of it ends the
// error, or frees its entity.
func (w *walk) people(n *node) {
	ended, freed := false, false
	for _, act := range acts {
		if next := w.try(n, act.input, n.at, act.what); next != nil {
			ended = ended || !next.e.State.Open()
			freed = freed || !next.e.Blocking
		}
	}
	if waits(&n.e) && !ended {
		w.fault(deadEnd, n, "no person can end what is parked in "+n.e.Table, "tables", n.e.Table)
	}
	if n.e.Blocking && !freed {
		w.fault(unblockable, n, "no person can unblock the entity of an error in "+n.e.Table, "tables", n.e.Table, "blocks")
	}
}

// workers claims what is due, and ends a lease in every way a worker can.
func (w *walk) workers(n *node) {
	switch {
	case n.e.State != recoup.RetryPending:
	case n.e.LeaseToken.IsZero():
		w.try(n, lifecycle.Claim{Token: attempt, Worker: "worker"}, later(n.at, n.e.NextRetryAt), "claimed by a worker")
	default:
		w.try(n, lifecycle.Succeed{Token: attempt}, n.at, "the retry succeeds")
		for _, f := range w.failures() {
			w.try(n, lifecycle.Fail{Token: attempt, Failure: f.Failure}, n.at, f.what)
		}
	}
}

// wait lets the clock alone act until the error ends.
func (w *walk) wait(start *node) {
	n := start
	for range longestWait {
		d, ok := deadline(w.checker, n)
		if !ok {
			break
		}
		next := w.try(n, d.Input, later(n.at, d.At), byClock(d.Kind))
		if next == nil {
			break
		}
		if d.Kind == lifecycle.Escalating && !next.repeated {
			w.life.rungs[next.e.EscalationLevel] = true
		}
		if n = next; !n.e.State.Open() {
			w.note(start, n)
			return
		}
	}
	w.fault(deadEnd, n, "errors in "+n.e.Table+" never end if nobody does anything", "tables", n.e.Table, "ttl")
}

// note keeps how the first parked error of this life ends.
func (w *walk) note(start, end *node) {
	if waits(&start.e) && !start.repeated && w.life.expiry == nil {
		w.life.expiry = end
	}
}

// deadline returns what the clock does next to an error; a retry that falls due
// is not its doing.
func deadline(c *checker, n *node) (lifecycle.Deadline, bool) {
	for _, d := range lifecycle.Deadlines(c.policy, &n.e) {
		if d.Input != nil {
			return d, true
		}
	}
	return lifecycle.Deadline{}, false
}

// waits reports whether an error waits for a person.
func waits(e *recoup.Error) bool { return e.State == recoup.Parked || e.State == recoup.Escalated }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// frontier holds the nodes still to be explored in the order of time.
type frontier []*node

func (f *frontier) push(n *node) {
	i, _ := slices.BinarySearchFunc(*f, n, func(a, b *node) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order))
	})
	*f = slices.Insert(*f, i, n)
}

func (f *frontier) pop() *node {
	n := (*f)[0]
	*f = (*f)[1:]
	return n
}
