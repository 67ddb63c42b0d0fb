package lifecycle

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Rebase judges an open error anew by another version of the policy, the one
// that Step is handed: as if that version had admitted it, but without giving
// back anything that was used up. Retries that were made stay counted, time that
// has passed stays passed, and what waits for people goes on to do so, on no
// lower tier.
//
// Only what the two versions answer differently changes, so that a version that
// says nothing new about an error moves nothing but its version, and undoes
// nothing that a person has decided. An error that has the version already is
// left as it is: a rebase that was cut off can simply be run again.
type Rebase struct {
	By, Reason string

	// From is the version that has judged the error so far. Without it, because
	// nobody knows it any more, every answer counts as a new one.
	From *policy.Policy
}

func (in Rebase) apply(s *step) error {
	if err := s.begin(Rebasing, in.By, in.Reason); err != nil {
		return err
	}
	e := &s.next
	if e.PolicyVersion == s.policy.Version {
		s.repeated = true
		return nil
	}
	is := s.effective()
	switch {
	case e.ExpiresAt.IsZero():
		return s.refuse("it does not expire, and is kept as it is")
	case is.Table != s.table:
		return s.refuse("its table requires an entity now, and it has none")
	case e.Replaceable != supersedes(s.table, e.EntityID) && (e.Replaceable || in.deadLetters(e.Table)):
		return s.refuse("its table begins or ceases to hold dead letters")
	}
	was := in.earlier(s)
	e.PolicyVersion = s.policy.Version
	s.remeasure(was, is)
	if e.ParkReason != "" {
		s.repark()
	} else {
		s.replace(was, is)
	}
	s.catchUp(in.From)
	return nil
}

// deadLetters reports whether a table has held dead letters so far. Where nobody knows any
// more, it may have.
func (in Rebase) deadLetters(table string) bool {
	if in.From == nil {
		return true
	}
	t, ok := in.From.Table(table)
	return !ok || t.DeadLetter
}

// earlier is the answer so far. One that is not known equals no other.
func (in Rebase) earlier(s *step) policy.Effective {
	if in.From != nil {
		if _, ok := in.From.Table(s.next.Table); ok {
			return in.From.Resolve(question(&s.next))
		}
	}
	return policy.Effective{TTL: -1, MaxRetries: -1, Window: -1}
}

// remeasure applies the new lengths: the TTL counts from the error's creation,
// the window from where it began. A budget below what was used is what was used.
func (s *step) remeasure(was, is policy.Effective) {
	e := &s.next
	if was.TTL != is.TTL {
		e.ExpiresAt = e.CreatedAt.Add(is.TTL)
	}
	if was.MaxRetries != is.MaxRetries {
		e.MaxRetries = max(is.MaxRetries, e.RetryCount)
	}
	if was.Window == is.Window {
		return
	}
	begun := e.CreatedAt
	if was.Window > 0 && !e.WindowEndsAt.IsZero() {
		begun = e.WindowEndsAt.Add(-was.Window)
	}
	e.WindowEndsAt = time.Time{}
	if is.Window > 0 {
		e.WindowEndsAt = begun.Add(is.Window)
	}
}

// repark finds the place of an error that people have to see to: on its rung of
// the new ladder, or, as its table begins or ceases to allow PARK, in the park or
// out of it.
func (s *step) repark() {
	e := &s.next
	parked := e.State != recoup.Active
	switch {
	case parked != s.table.Allows(recoup.ActionPark), !allows(s.table, e.Disposition):
		e.Parking = recoup.Parking{ParkReason: e.ParkReason, LastReviewedAt: e.LastReviewedAt}
		e.Escalation = recoup.Escalation{}
		s.park(recoup.System, e.ParkReason)
	case parked:
		s.restand()
	}
}

// restand gives a parked error the owner and the deadlines that its tier has on
// the new ladder. Whether it has outgrown the tier the clock decides.
func (s *step) restand() {
	e := &s.next
	reviewed := e.ReviewDueAt.IsZero() && !e.LastReviewedAt.Before(e.EscalatedAt)
	before := e.Owner()
	e.EscalatedTo = s.table.Owner(e.EscalationLevel)
	s.schedule()
	if reviewed {
		e.ReviewDueAt = time.Time{}
	}
	if e.Owner() != before {
		s.notify(wire.NoticeParked, e.Owner())
	}
}

// replace finds the place of an error that the system has: where it is, if the
// answer is the same, else where the new one puts it. Workers keep what they
// hold as long as it is to be retried at all.
func (s *step) replace(was, is policy.Effective) {
	e := &s.next
	same := was.Action == is.Action && (was.ParkReason == is.ParkReason || is.Action == recoup.ActionPark)
	retried := e.State == recoup.RetryPending
	if same && allows(s.table, e.Disposition) {
		if retried {
			s.goOn()
		}
		return
	}
	if is.NotifyOwner {
		s.notify(wire.NoticeNotParked, s.table.Owner(1))
	}
	switch {
	case is.Action == recoup.ActionRetry && retried:
		s.goOn()
	case is.Action == recoup.ActionRetry:
		s.retryOrHold(s.due(is, Failure{Class: e.Class}), "")
	case is.Action == recoup.ActionPark:
		s.park(recoup.System, is.ParkReason)
	default:
		s.rest(is)
	}
}

// goOn keeps a retry on its time, if the new budget and the new window do. The
// attempt of a worker that has it ends first.
func (s *step) goOn() {
	e, at := &s.next, s.now
	if e.NextRetryAt.After(at) {
		at = e.NextRetryAt
	}
	switch {
	case e.RetryCount >= e.MaxRetries:
		s.park(recoup.System, recoup.MaxRetriesExceeded)
	case e.LeaseToken.IsZero() && windowOver(e, at):
		s.park(recoup.System, recoup.RetryWindowClosed)
	}
}

// catchUp notifies of what the new version has moved to before the last reminder,
// where no later one would.
func (s *step) catchUp(from *policy.Policy) {
	e, was := &s.next, s.current
	past := func(t time.Time) bool { return !t.IsZero() && !t.After(e.RemindedAt) }
	if past(e.ReviewDueAt) && !past(was.ReviewDueAt) {
		s.notify(wire.NoticeReviewMissed, e.Owner())
	}
	if from == nil {
		from = s.policy
	}
	announced := was.Blocking && past(was.ExpiresAt.Add(-from.ExpiryNotice))
	if past(s.expiryNotice()) && !announced {
		s.notify(wire.NoticeExpiring, s.ownerOrTeam())
	}
}

// allows reports whether errors of a table may have this disposition. ARCHIVE
// stands in for PARK where that is not allowed.
func allows(t *policy.Table, d recoup.Disposition) bool {
	switch d {
	case recoup.DispositionParked:
		return t.Allows(recoup.ActionPark)
	case recoup.DispositionArchive:
		return t.Allows(recoup.ActionArchive) || !t.Allows(recoup.ActionPark)
	}
	return t.Allows(recoup.Action(d))
}
