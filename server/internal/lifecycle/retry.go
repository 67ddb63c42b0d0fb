package lifecycle

import (
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Succeed is a worker's word that the retry worked.
type Succeed struct {
	Token  recoup.ID
	Reason string
}

func (in Succeed) apply(s *step) error {
	if err := s.begin(Succeeded, "", in.Reason); err != nil {
		return err
	}
	if done, err := s.holds(in.Token); done || err != nil {
		return err
	}
	s.endAttempt(Succeeded)
	s.finish(s.actor, in.Reason)
	return nil
}

// Fail is a worker's word that the retry failed, and how. A failure that is no
// longer retryable ends the retries at once.
type Fail struct {
	Token   recoup.ID
	Failure Failure
	Reason  string
}

func (in Fail) apply(s *step) error {
	if err := s.begin(Failed, "", in.Reason); err != nil {
		return err
	}
	if done, err := s.holds(in.Token); done || err != nil {
		return err
	}
	if in.Failure.Code == "" {
		return s.refuse("how it failed is missing")
	}
	spent := s.countAttempt(Failed, in.Failure)
	s.retryOrHold(s.due(s.effective(), in.Failure), spent)
	return nil
}

// CloseWindow parks an error whose retry window ended before it was retried.
type CloseWindow struct{}

func (CloseWindow) apply(s *step) error {
	if err := s.begin(WindowClosed, "", ""); err != nil {
		return err
	}
	switch {
	case !s.next.LeaseToken.IsZero():
		return s.refuse("a worker has it: its result or its lapse comes first")
	case !windowOver(&s.next, s.now):
		return s.refuse("its retry window is still open")
	}
	s.park(recoup.System, recoup.RetryWindowClosed)
	return nil
}

// countAttempt ends a failed attempt. It returns the reason to park if the
// failure leaves no room for another try.
func (s *step) countAttempt(result Kind, failure Failure) (spent recoup.ParkReason) {
	e := &s.next
	s.endAttempt(result)
	e.RetryCount = min(e.RetryCount+1, e.MaxRetries)
	e.LastFailureCode = failure.Code
	s.effects.Event = failure.Code
	spent = s.countStreak(s.policy.FamilyOf(s.table, failure.Code), failure)
	if verdict := s.policy.MustPark(s.table, failure.Code, failure.Class, failure.Category); verdict.Must {
		spent = verdict.Reason
		e.Class, e.Category = failure.Class, failure.Category // an unpark buys what it has become
		if verdict.Page {
			s.notify(wire.NoticePaged, s.table.Owner(recoup.MaxTier))
		}
	}
	return spent
}

// due is when the next retry may happen: after the longest of the category's
// schedule, what the failing side asked for, and the least its class allows.
func (s *step) due(effective policy.Effective, failure Failure) time.Time {
	return s.now.Add(max(
		effective.Schedule.Delay(s.next.RetryCount+1, nil),
		failure.RetryAfter,
		s.policy.Floor(failure.Class),
	))
}

// retryOrHold schedules the next retry, or parks: for the reason given, because
// the budget is spent, or because the retry would fall outside its window.
func (s *step) retryOrHold(at time.Time, spent recoup.ParkReason) {
	e := &s.next
	switch {
	case spent != "":
		s.park(recoup.System, spent)
	case e.RetryCount >= e.MaxRetries:
		s.park(recoup.System, recoup.MaxRetriesExceeded)
	case windowOver(e, at):
		s.park(recoup.System, recoup.RetryWindowClosed)
	default:
		e.State, e.Disposition, e.NextRetryAt = recoup.RetryPending, recoup.DispositionRetry, at
	}
}

// effective asks the policy again about the error as it was admitted.
func (s *step) effective() policy.Effective { return s.policy.Resolve(question(&s.next)) }

// question is what a policy is asked about a stored error.
func question(e *recoup.Error) policy.Question {
	return policy.Question{
		Table: e.Table, Entity: e.EntityID != "", Code: e.Code,
		Class: e.Class, Category: e.Category, Severity: e.Severity,
	}
}

// countStreak counts a failure of a family for the entity and returns the
// reason to park if it was the last one allowed.
func (s *step) countStreak(family *policy.Family, failure Failure) recoup.ParkReason {
	if family == nil || s.next.EntityID == "" {
		return ""
	}
	s.next.StreakFamily, s.next.StreakCount = family.Name, failure.Streak+1
	s.effects.Streak = Streak{Family: family.Name, Op: StreakCount}
	if failure.Streak+1 < family.After {
		return ""
	}
	s.because(fmt.Sprintf("failure %d of %d of %s for this entity", failure.Streak+1, family.After, family.Name))
	return family.Reason
}

// because adds to the reason of a transition what decided it.
func (s *step) because(why string) {
	if s.reason != "" {
		why = s.reason + "; " + why
	}
	s.reason = why
}

// resetStreak begins the count anew in which the error's failures were counted.
func (s *step) resetStreak() {
	if family := s.next.StreakFamily; family != "" {
		s.effects.Streak = Streak{Family: family, Op: StreakReset}
	}
	s.next.StreakFamily, s.next.StreakCount = "", 0
}

// windowOver reports whether a retry at t would fall outside the window.
func windowOver(e *recoup.Error, t time.Time) bool {
	return !e.WindowEndsAt.IsZero() && t.After(e.WindowEndsAt)
}

// Family names the count of failures that an input to a stored error may move,
// so that a store can have it at hand; it is empty if there is none. A failure
// moves the count of its own code, everything else that of the error.
func Family(p *policy.Policy, e *recoup.Error, in Input) string {
	table, ok := p.Table(e.Table)
	if !ok {
		return ""
	}
	code := e.Code
	if fail, ok := in.(Fail); ok {
		code = fail.Failure.Code
	}
	if family := p.FamilyOf(table, code); family != nil {
		return family.Name
	}
	return ""
}
