// Package lifecycle decides what becomes of an error. [Step] is the only place
// where a transition is decided; stores and handlers apply what it says.
//
// The package is pure: it reads no clock, no database and no randomness, and it
// keeps nothing between calls. What may follow what is a table ([Transitions])
// from which the documentation is drawn.
package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Step applies one input to an error and returns the error's next version and
// everything else that must happen in the same commit.
//
// current is nil for the first report of a failure. For a report it may be the
// open error of the same table, entity and code, which the report replaces.
// current is never modified.
//
// An input that the transition table does not know, or whose guard does not
// hold, comes back as a *[Refusal]; the error returned with it is unchanged. The
// late result of a worker whose lease was taken away is refused too, but leaves
// a history row in the effects, to be stored on its own. A result that is sent
// again after it was accepted changes nothing.
func Step(p *policy.Policy, current *recoup.Error, in Input, now time.Time) (recoup.Error, Effects, error) {
	s := step{policy: p, now: now, current: current}
	if current != nil {
		s.next, s.before = *current, current.Snapshot()
	}
	if err := s.dispatch(in); err != nil || s.repeated {
		return s.unchanged(), Effects{History: s.effects.History}, err
	}
	s.leave()
	return s.next, s.effects, nil
}

// step is one application of an input: the error in the making, and what else
// is to happen.
type step struct {
	policy  *policy.Policy
	table   *policy.Table
	now     time.Time
	kind    Kind
	actor   string
	reason  string
	current *recoup.Error
	before  recoup.Snapshot
	next    recoup.Error
	effects Effects

	repeated bool // the input was accepted before: nothing more happens
	apart    bool // a report's error: nothing is to take its place

	// A report's error that goes to the archive at once, why, and for which other.
	over      recoup.ArchiveReason
	successor recoup.ID
}

func (s *step) unchanged() recoup.Error {
	if s.current == nil {
		return recoup.Error{}
	}
	return *s.current
}

// dispatch calls the input's own apply. It names the types instead of calling
// through the interface so that neither step nor input is moved to the heap.
func (s *step) dispatch(in Input) error {
	switch in := in.(type) {
	case Report:
		return in.apply(s)
	case Claim:
		return in.apply(s)
	case Extend:
		return in.apply(s)
	case Succeed:
		return in.apply(s)
	case Fail:
		return in.apply(s)
	case Lapse:
		return in.apply(s)
	case CloseWindow:
		return in.apply(s)
	case Park:
		return in.apply(s)
	case Unpark:
		return in.apply(s)
	case Resolve:
		return in.apply(s)
	case Escalate:
		return in.apply(s)
	case Assign:
		return in.apply(s)
	case Review:
		return in.apply(s)
	case Remind:
		return in.apply(s)
	case ArchiveNow:
		return in.apply(s)
	case Expire:
		return in.apply(s)
	case Rebase:
		return in.apply(s)
	case Replay:
		return in.apply(s)
	case Return:
		return in.apply(s)
	case FailAgain:
		return in.apply(s)
	case Verify:
		return in.apply(s)
	}
	return s.refuse("unknown input")
}

// begin notes who asks for what, and checks what every input must respect: the
// transition table, that rows of INFINITE tables are kept as they are, and that
// what plain SQL has written is admitted first. A report finds its own table; for
// the word of a worker its lease decides, not the state.
func (s *step) begin(kind Kind, actor, reason string) error {
	s.kind, s.actor, s.reason = kind, cmp.Or(actor, recoup.System), reason
	switch {
	case s.kind == Reported && s.current == nil:
		return nil
	case s.current == nil:
		return s.refuse("there is no such error")
	case s.kind.ofWorker():
	case !allowed(s.kind, s.current.State):
		return s.refuse("")
	}
	table, ok := s.policy.Table(s.current.Table)
	switch {
	case !ok && s.kind == Rebasing:
		return s.refuse("the policy has no such table")
	case !ok:
		return fmt.Errorf("policy %s has no table %q", s.policy.Version, s.current.Table)
	}
	s.table = table
	switch {
	case s.kind == Reported:
		return nil
	case s.current.PolicyVersion == "": // its message is as its writer left it
		return s.refuse("it is not admitted yet, which takes about a second: try again")
	case table.Infinite():
		return s.refuse("errors of this table are kept for ever, as they are")
	}
	return nil
}

// leave brings what is derived up to date and writes the history row.
func (s *step) leave() {
	s.derive()
	e := &s.next
	if s.quiet() {
		s.effects.Notices = Notices{}
	}
	if s.over != "" {
		s.effects.Ended = s.ended(e, s.over, s.successor)
	}
	if s.kind.silent() && s.effects.Event == "" {
		return
	}
	h := &s.effects.History
	h.ErrorID, h.At, h.Input, h.Actor, h.Reason = e.ID, s.now, string(s.kind), s.actor, s.reason
	h.Before, h.After, h.PolicyVersion = s.before, e.Snapshot(), s.policy.Version
}

// derive brings up to date what follows from the rest of an error. What has expired
// before it was reported blocks nothing, and what is kept apart stays so.
func (s *step) derive() {
	e, was := &s.next, s.current
	e.UpdatedAt = s.now
	e.RetryExhausted = exhausted(e)
	e.Blocking = s.over != recoup.TTLExpired && blocks(s.table, e)
	apart := s.apart || was != nil && was.ID == e.ID && was.State.Open() && !was.Replaceable
	e.Replaceable = e.State.Open() && s.over == "" && !apart && supersedes(s.table, e.EntityID)
	s.keepHistoric()
	if e.State.Open() {
		s.refreshReminder()
	}
	if was == nil || s.effects.Past || was.ID != e.ID && s.effects.Superseded == nil {
		was = new(recoup.Error) // history is judged as if nothing had been there
	}
	mark(was, e, s.now)
}

// exhausted reports whether the budget of retries is spent.
func exhausted(e *recoup.Error) bool { return e.MaxRetries > 0 && e.RetryCount >= e.MaxRetries }

// blocks is rule 6.1 of spec 000. Only an error that names an entity has
// something to block.
func blocks(t *policy.Table, e *recoup.Error) bool {
	return t.Blocks && e.EntityID != "" && e.State.Open() && e.Disposition.Blocks()
}
