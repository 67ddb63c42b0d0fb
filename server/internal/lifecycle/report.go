package lifecycle

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/fingerprint"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
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
	Past          bool      // it is history, judged as of CreatedAt, of which nobody is notified
	Apart         bool      // it replaces nothing, and nothing replaces it
	Replaces      bool      // of one that is apart: the current error is of the same source row, and is replaced
	Amends        bool      // of one that replaces: the failure is the same one, only its severity is worse
	WrittenAt     time.Time // of one that replaces: when its source row was written; zero: unknown
	Stands        bool      // it is a row of its table already, with or without an entity
	ReportedTable string    // of a row that stands among the orphans: where it was written
	By            string
}

// ErrMismatch is returned for a report that is to replace an error of another
// table, entity or code.
var ErrMismatch error = mismatch{}

type mismatch struct{}

func (mismatch) Error() string {
	return "the earlier error is not for the same table, entity and code"
}

// Fault returns the failure that a caller of the API gets.
func (mismatch) Fault() *fault.Error {
	return fault.Wrap(ErrMismatch, fault.CodeConflict, "The open error of this table, entity and code is kept elsewhere.")
}

func (in Report) apply(s *step) error {
	if err := s.begin(Reported, in.By, ""); err != nil {
		return err
	}
	if in.Past && !in.replaces(s.current) {
		return in.applyPast(s)
	}
	in = in.ofRow(s.current)
	severity := in.severity(s.current)
	older, effective, err := in.resolve(s, severity)
	if err != nil {
		return err
	}
	s.before, s.next = recoup.Snapshot{}, in.born(s, effective, severity)
	held := older != nil && s.inherit(older, in.Attempt, !in.Amends)
	s.next.Historic = s.next.Historic && in.Past
	var spent recoup.ParkReason
	if older == nil || !in.Amends && !recorded(older, in.Attempt) {
		s.effects.Event = in.Failure.Code
		spent = s.countStreak(effective.Family, in.Failure)
	}
	if !held {
		s.place(insist(effective, older), in.Failure, spent)
	}
	if older != nil {
		s.supersede(older)
	}
	in.noteChange(s, older)
	return nil
}

// resolve asks the policy, and returns with its answer the open error whose place the
// report takes, if there is one.
func (in Report) resolve(s *step, severity recoup.Severity) (older *recoup.Error, effective policy.Effective, err error) {
	effective = s.policy.Resolve(policy.Question{
		Table: in.Table, Entity: in.EntityID != "" || in.Stands, Code: in.Failure.Code,
		Class: in.Failure.Class, Category: in.Failure.Category, Severity: severity,
	})
	s.table, s.apart = effective.Table, in.Apart
	switch {
	case s.current == nil || in.Apart && !in.Replaces:
		return nil, effective, nil
	case !in.repeats(s.current, effective):
		return nil, effective, ErrMismatch
	case !supersedes(s.table, in.EntityID) && !(in.Replaces && replaceableRow(s.table)):
		return nil, effective, nil
	}
	return s.current, effective, nil
}

// repeats reports whether the report is of the same failure as an open error.
func (in Report) repeats(older *recoup.Error, effective policy.Effective) bool {
	if in.Replaces {
		return older.Table == effective.Table.Name && older.EntityID == in.EntityID
	}
	return older.Table == effective.Table.Name &&
		older.Identity() == recoup.Identity{Table: in.Table, Entity: in.EntityID, Code: in.Failure.Code}
}

// orphan is the table that the report named, if it was not to be had.
func (in Report) orphan(effective policy.Effective) string {
	if !effective.Orphaned {
		return in.ReportedTable
	}
	return in.Table
}

// counted reports whether a report is of an attempt that has been counted.
func counted(older *recoup.Error, attempt recoup.ID) bool {
	return !attempt.IsZero() && attempt == older.LastAttempt && older.LastResult != ""
}

// recorded reports whether the failure of that attempt is recorded as well: an
// expired lease has counted, but not what went wrong.
func recorded(older *recoup.Error, attempt recoup.ID) bool {
	return counted(older, attempt) && older.LastResult == string(Failed)
}

// severity is the worse of the report's and of the error it replaces: a repeat
// that calls itself harmless does not open the gate.
func (in Report) severity(older *recoup.Error) recoup.Severity {
	if older != nil && (!in.Apart || in.Replaces) && older.Severity.Rank() > in.Severity.Rank() {
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

// insist keeps a repeat in retry where the error it replaces was, unless it must
// be parked: a person may have put it there against the policy's first answer.
func insist(effective policy.Effective, older *recoup.Error) policy.Effective {
	if older != nil && older.State == recoup.RetryPending && effective.ParkReason == "" {
		effective.Action = recoup.ActionRetry
	}
	return effective
}

// born returns the error as it is before policy gives it a place.
func (in Report) born(s *step, effective policy.Effective, severity recoup.Severity) recoup.Error {
	created := in.CreatedAt
	if created.IsZero() {
		created = s.now
	}
	e := recoup.Error{
		ID: in.ID, Table: s.table.Name, ReportedTable: in.orphan(effective), EntityID: in.EntityID,
		Code: in.Failure.Code, Class: in.Failure.Class, Category: in.Failure.Category,
		Severity: severity, Message: in.Message,
		CorrelationID: in.CorrelationID, PolicyVersion: s.policy.Version, CreatedAt: created,
	}
	if !s.table.DeadLetter { // which have groups of their own
		e.GroupID = fingerprint.Group(e.Table, e.Code, e.Message)
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
	if effective.Page {
		s.notify(wire.NoticePaged, s.table.Owner(recoup.MaxTier))
	}
	if effective.NotifyOwner {
		s.notify(wire.NoticeNotParked, s.table.Owner(1))
	}
	switch effective.Action {
	case recoup.ActionRetry:
		at := s.due(effective, failure)
		if s.next.NextRetryAt.After(at) {
			at = s.next.NextRetryAt // a repeat comes no sooner than what it replaces
		}
		s.retryOrHold(at, spent)
	case recoup.ActionPark:
		s.park(recoup.System, s.spent(failure, effective.ParkReason))
	default:
		s.rest(effective)
	}
}

// rest leaves an error alone until its TTL: archived or ignored by policy.
func (s *step) rest(effective policy.Effective) {
	e := &s.next
	s.endAttempt("")
	e.NextRetryAt = time.Time{}
	e.State, e.Disposition, e.ParkReason = recoup.Active, effective.Action.Disposition(), effective.ParkReason
}

// inherit takes over from the error that is being replaced whatever a repeat
// must not win back: used attempts, the budget, the window, a later expiry, and
// a place in the park, of which it reports whether there was one. The older
// error's lease goes with it and counts as an attempt; the failure of an attempt
// that was already counted does not count again. Without counts only a lease counts.
func (s *step) inherit(older *recoup.Error, attempt recoup.ID, counts bool) (held bool) {
	e := &s.next
	count := older.RetryCount
	if !older.LeaseToken.IsZero() || counts && !counted(older, attempt) {
		count++
	}
	e.MaxRetries = min(e.MaxRetries, older.MaxRetries)
	e.RetryCount = min(count, e.MaxRetries)
	e.LastRetryAt, e.StreakFamily, e.StreakCount = older.LastRetryAt, older.StreakFamily, older.StreakCount
	e.LastAttempt, e.LastResult = older.LastAttempt, older.LastResult
	switch {
	case !older.LeaseToken.IsZero():
		e.LastAttempt, e.LastResult = older.LeaseToken, string(Failed)
	case counted(older, attempt):
		e.LastResult = string(Failed)
	}
	if older.LeaseToken.IsZero() {
		e.NextRetryAt = older.NextRetryAt
	}
	e.WindowEndsAt, e.RemindedAt, e.Marks = older.WindowEndsAt, older.RemindedAt, older.Marks
	if older.ExpiresAt.After(e.ExpiresAt) {
		e.ExpiresAt = older.ExpiresAt
	}
	if older.ParkReason == "" {
		return false
	}
	e.State, e.Disposition = older.State, older.Disposition
	e.Parking, e.Escalation = older.Parking, older.Escalation
	e.Class, e.Category, e.LastFailureCode = older.Class, older.Category, older.LastFailureCode
	return true
}

// supersede archives the older error in favour of the new one.
func (s *step) supersede(older *recoup.Error) {
	s.effects.Superseded = s.ended(older, recoup.SupersededByNext, s.next.ID)
}
