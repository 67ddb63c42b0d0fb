package proof

import (
	"fmt"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// faults remembers, within one life, what was already found: a life that shows
// a fault in many of its states is still the same number of cases.
type faults map[string]bool

// fault notes that a rule does not hold at a node.
func (w *walk) fault(rule string, n *node, message string, at ...string) {
	if w.faults[rule+message] {
		return
	}
	w.faults[rule+message] = true
	w.refute(rule, at, message, w.life.cases, n.trace())
}

// judge holds an error to what must be true at every moment of every life.
func (w *walk) judge(n *node, effects *lifecycle.Effects) {
	e, table := &n.e, []string{"tables", n.e.Table}
	if n.overspent() {
		w.fault(budget, n, fmt.Sprintf("an error in %s was retried more often than its budget allows", e.Table), table...)
	}
	if w.life.table.Infinite() {
		if e.State != recoup.Active {
			w.fault(infinite, n, fmt.Sprintf("an error becomes %s in %s, which keeps errors for ever as they are", e.State, e.Table), append(table, "ttl")...)
		}
		return
	}
	if !e.State.Open() {
		return
	}
	w.judgeExit(n, effects)
	w.judgeOwner(n)
}

// overspent reports whether an error was retried more often than its budget
// allows: by what happened to it, or by what it says itself.
func (n *node) overspent() bool { return max(n.claims, n.e.RetryCount) > n.e.MaxRetries }

// judgeOwner wants somebody, or at least the clock, to be responsible.
func (w *walk) judgeOwner(n *node) {
	e := &n.e
	owned := e.Owner() != recoup.System
	at := []string{"hubs", w.life.table.Hub, "team"}
	switch {
	case waits(e) && (!owned || e.EscalationLevel < 1):
		w.fault(owner, n, "nobody owns what is parked in "+e.Table, at...)
	case !owned && len(lifecycle.Deadlines(w.policy, e)) == 0:
		w.fault(owner, n, fmt.Sprintf("an error that is %s in %s has neither an owner nor a deadline", e.State, e.Table), at...)
	}
}

// judgeExit looks at where an error stands once it is not, or no longer, to be
// retried, and at its disposition everywhere else.
func (w *walk) judgeExit(n *node, effects *lifecycle.Effects) {
	e, at := &n.e, []string{"tables", n.e.Table, "allowed"}
	held := e.State == recoup.Active && (w.life.answer.tell || n.from != nil && n.from.e.State == recoup.RetryPending)
	switch {
	case n.from == nil && e.State == recoup.RetryPending && w.mustPark():
		w.fault(retryExit, n, "what must not be retried is retried in "+e.Table, at...)
	case held && moved(n) && (e.ParkReason == "" || !tells(effects, wire.NoticeNotParked)):
		w.fault(retryExit, n, fmt.Sprintf("an error in %s is given up and nobody hears why", e.Table), at...)
	case w.allows(e) || !moved(n):
	case held:
		w.fault(retryExit, n, fmt.Sprintf("an error in %s whose retries are spent has nowhere to go: the table allows neither PARK nor ARCHIVE", e.Table), at...)
	default:
		w.fault(disposition, n, fmt.Sprintf("an error in %s gets the disposition %s, which the table does not allow", e.Table, e.Disposition), at...)
	}
}

// moved reports whether the last step has changed the state of an error.
func moved(n *node) bool { return n.from == nil || n.from.e.State != n.e.State }

func (w *walk) mustPark() bool {
	q := w.life.question
	return w.policy.MustPark(w.life.table, q.Code, q.Class, q.Category).Must
}

// allows reports whether the table allows the error's disposition.
func (w *walk) allows(e *recoup.Error) bool {
	return slices.ContainsFunc(w.life.table.Allowed(), func(a recoup.Action) bool {
		return a.Disposition() == e.Disposition
	})
}

func tells(effects *lifecycle.Effects, kind wire.NoticeKind) bool {
	return slices.ContainsFunc(effects.Notices.All(), func(n lifecycle.Notice) bool { return n.Kind == kind })
}
