package lifecycle

import (
	"errors"
	"time"

	"recoup"
	"recoup/internal/policy"
)

// Report records a failure. It makes a new error, which takes the place of the
// open one for the same table, entity and code if there is one.
type Report struct {
	ID            recoup.ID
	Table         string
	EntityID      string
	Failure       Failure
	Severity      recoup.Severity // the report's, else the code's
	Message       string
	CorrelationID recoup.ID
	Attempt       recoup.ID // token of the attempt that failed, if it was one
	CreatedAt     time.Time // zero: now
	By            string
}

// ErrMismatch is returned for a report that is to replace an error of another
// table, entity or code.
var ErrMismatch = errors.New("the earlier error is not for the same table, entity and code")

func (in Report) apply(s *step) error {
	if err := s.begin(Reported, in.By, ""); err != nil {
		return err
	}
	effective := s.policy.Resolve(policy.Question{
		Table: in.Table, Entity: in.EntityID != "", Code: in.Failure.Code,
		Class: in.Failure.Class, Category: in.Failure.Category, Severity: in.severity(s.current),
	})
	s.table = effective.Table
	older := s.current
	if older != nil && (older.Table != s.table.Name || older.EntityID != in.EntityID || older.Code != in.Failure.Code) {
		return ErrMismatch
	}
	if !supersedes(s.table, in.EntityID) {
		older = nil
	}
	s.before, s.next = recoup.Snapshot{}, in.born(s, effective)
	s.effects.Event = in.Failure.Code
	if effective.Page {
		s.tell(recoup.NoticePage, s.table.Owner(recoup.MaxTier))
	}
	spent := s.countStreak(effective.Family, in.Failure)
	if older == nil || !s.inherit(older, in.Attempt) {
		s.place(insist(effective, older), in.Failure, spent)
	}
	if older != nil {
		s.supersede(older)
	}
	return nil
}

// severity is the worse of the report's and of the error it replaces: a repeat
// that calls itself harmless does not open the gate.
func (in Report) severity(older *recoup.Error) recoup.Severity {
	if older != nil && older.Severity.Rank() > in.Severity.Rank() {
		return older.Severity
	}
	return in.Severity
}

// supersedes reports whether a repeat in this table replaces what is open: not
// where rows are kept for ever, not for dead letters, each of which carries its
// own work, and not where no entity says what would be the same.
func supersedes(t *policy.Table, entity string) bool {
	return !t.Infinite() && !t.DeadLetter && entity != ""
}

// insist keeps a repeat in retry where the error it replaces was: a person may
// have put it there against the policy's first answer.
func insist(effective policy.Effective, older *recoup.Error) policy.Effective {
	if older != nil && older.State == recoup.RetryPending && effective.Action != recoup.ActionPark {
		effective.Action = recoup.ActionRetry
	}
	return effective
}

// born returns the error as it is before policy gives it a place.
func (in Report) born(s *step, effective policy.Effective) recoup.Error {
	created := in.CreatedAt
	if created.IsZero() {
		created = s.now
	}
	e := recoup.Error{
		ID: in.ID, Table: s.table.Name, EntityID: in.EntityID,
		Code: in.Failure.Code, Class: in.Failure.Class, Category: in.Failure.Category,
		Severity: in.severity(s.current), Message: in.Message,
		CorrelationID: in.CorrelationID, PolicyVersion: s.policy.Version, CreatedAt: created,
	}
	e.MaxRetries = effective.MaxRetries
	e.LastFailureCode = in.Failure.Code
	if effective.TTL > 0 {
		e.ExpiresAt = created.Add(effective.TTL)
	}
	if effective.Window > 0 {
		e.WindowEndsAt = created.Add(effective.Window)
	}
	return e
}

// place gives a new error its first state by what the policy decided. spent is
// the reason to park instead of retrying, if its family of failures gives one.
func (s *step) place(effective policy.Effective, failure Failure, spent recoup.ParkReason) {
	switch effective.Action {
	case recoup.ActionRetry:
		s.retryOrHold(s.due(effective, failure), spent)
	case recoup.ActionPark:
		s.hold(recoup.System, effective.ParkReason)
	default:
		s.next.State, s.next.Disposition = recoup.Active, effective.Action.Disposition()
		s.next.ParkReason = effective.ParkReason
		if effective.TellOwner {
			s.tell(recoup.NoticeNotParked, s.table.Owner(1))
		}
	}
}

// inherit takes over from the error that is being replaced whatever a repeat
// must not win back: used attempts, the window, and a place in the park, of
// which it reports whether there was one. The failure of an attempt that was
// already counted is not counted again.
func (s *step) inherit(older *recoup.Error, attempt recoup.ID) (parked bool) {
	e := &s.next
	count := older.RetryCount + 1
	if !attempt.IsZero() && attempt == older.LastAttempt {
		count--
	}
	e.RetryCount = min(count, e.MaxRetries)
	e.LastRetryAt, e.LastAttempt = older.LastRetryAt, older.LastAttempt
	if !older.LeaseToken.IsZero() {
		e.LastAttempt = older.LeaseToken
	}
	if !older.WindowEndsAt.IsZero() {
		e.WindowEndsAt = older.WindowEndsAt
	}
	if older.State != recoup.Parked && older.State != recoup.Escalated {
		return false
	}
	e.State, e.Disposition = older.State, older.Disposition
	e.Parking, e.Escalation = older.Parking, older.Escalation
	e.WindowEndsAt = older.WindowEndsAt
	return true
}

// supersede archives the older error in favour of the new one.
func (s *step) supersede(older *recoup.Error) {
	old := *older
	revoke(&old)
	s.archive(&old, recoup.System, recoup.SupersededByNext)
	old.SupersededBy, old.UpdatedAt = s.next.ID, s.now
	s.effects.Superseded = &Superseded{Error: old, History: recoup.Transition{
		ErrorID: old.ID, At: s.now, Input: string(Archiving), Actor: recoup.System,
		Reason: string(recoup.SupersededByNext), Before: older.Snapshot(), After: old.Snapshot(),
		PolicyVersion: s.policy.Version,
	}}
}
