package recoup

import (
	"cmp"
	"time"
)

// Error is one governed failure of one entity in one error table: the thing
// with a lifecycle. Its fields are the columns of spec 000 (4.2, 5.2, 7.3,
// 10.2) and what the lifecycle needs beside them. A zero time means "not set".
//
// Only lifecycle.Step makes a new version of an Error; everything else reads.
type Error struct {
	ID            ID       `json:"error_id" doc:"names the error"`
	Table         string   `json:"table" doc:"the error table it is kept in"`
	ReportedTable string   `json:"reported_table,omitempty" doc:"of a table that the policy does not know: the table its report named"`
	EntityID      string   `json:"entity_id,omitempty" doc:"what cannot go on because of it"`
	Code          Code     `json:"code" doc:"what failed"`
	Severity      Severity `json:"severity,omitempty" doc:"CRITICAL, HIGH, MEDIUM or LOW"`
	Category      Category `json:"category" doc:"TRANSIENT, OPERATIONAL or STRUCTURAL: which retry schedule it has"`
	Class         Class    `json:"class" doc:"of the code: whether and how soon trying again can help"`
	Message       string   `json:"message,omitempty" doc:"what was reported, with secrets replaced"`
	CorrelationID ID       `json:"correlation_id,omitzero" doc:"the request or run that it happened in"`
	GroupID       ID       `json:"group_id,omitzero" doc:"the group of errors with the same table, code and normalised message; dead letters have groups of their own"`
	PolicyVersion string   `json:"policy_version" doc:"the policy that judged it"`

	State       State       `json:"state" doc:"ACTIVE, RETRY_PENDING, PARKED, ESCALATED, RESOLVED or ARCHIVED"`
	Disposition Disposition `json:"disposition" doc:"what the policy decided: RETRY, PARKED, ARCHIVE, IGNORE or RESOLVED"`
	Blocking    bool        `json:"blocking" doc:"whether it blocks its entity right now"`
	Replaceable bool        `json:"-"` // a newer report of the same failure takes its place

	CreatedAt time.Time `json:"created_at" doc:"when it was reported"`
	UpdatedAt time.Time `json:"updated_at" doc:"when it was last changed"`
	ExpiresAt time.Time `json:"expires_at,omitzero" doc:"when it is archived if nothing happens; none: never"` // zero in INFINITE tables

	Retry
	Lease
	Parking
	Escalation
	Resolution
	Archive
	Marks

	// NextReminderAt is when its owner is next notified without a change of state:
	// of a missed review, or of an expiry that will unblock its entity. RemindedAt
	// is up to when that has been done.
	NextReminderAt time.Time `json:"next_reminder_at,omitzero" doc:"when its owner is next reminded"`
	RemindedAt     time.Time `json:"reminded_at,omitzero" doc:"up to when its owner was reminded"`
}

// Retry is the retry state of an error (spec 000, 5.2).
type Retry struct {
	RetryCount      int       `json:"retry_count" doc:"how often it was retried"`
	MaxRetries      int       `json:"max_retries" doc:"how often it may be retried"`
	LastRetryAt     time.Time `json:"last_retry_at,omitzero" doc:"when its last retry ended"`
	NextRetryAt     time.Time `json:"next_retry_at,omitzero" doc:"when its next retry is due"`
	RetryExhausted  bool      `json:"retry_exhausted" doc:"there were enough retries"`
	WindowEndsAt    time.Time `json:"retry_window_ends_at,omitzero" doc:"no retry is begun after this; none: no limit"` // zero: no window
	LastFailureCode Code      `json:"last_failure_code,omitempty" doc:"how its last retry failed"`
	StreakFamily    string    `json:"streak_family,omitempty" doc:"the family of codes in which its failures are counted together"`
	StreakCount     int       `json:"streak_count,omitempty" doc:"how many failures of that family its entity had in a row"`
	LastAttempt     ID        `json:"last_attempt,omitzero" doc:"the lease that ended last; only for its worker"`
	LastResult      string    `json:"last_result,omitempty" doc:"how that ended: succeed, fail or lapse; none: it was revoked"`
}

// Lease is a worker's exclusive right to an error, or to other work, until a time. The
// token is its fence: a result that carries another one is refused.
type Lease struct {
	LeaseToken  ID        `json:"lease_token,omitzero" doc:"only for the worker that has claimed it"`
	LeaseWorker string    `json:"lease_worker,omitempty" doc:"the worker that has it"`
	LeasedAt    time.Time `json:"leased_at,omitzero" doc:"since when"`
	LeaseEndsAt time.Time `json:"lease_ends_at,omitzero" doc:"until when, unless it is extended"`
}

// NewLease is a lease that begins now.
func NewLease(token ID, worker string, now time.Time, length time.Duration) Lease {
	return Lease{LeaseToken: token, LeaseWorker: worker, LeasedAt: now, LeaseEndsAt: now.Add(length)}
}

// HeldBy is the fence: it reports whether a token is that of the lease. The token of an
// expired lease is accepted until somebody else claims.
func (l *Lease) HeldBy(token ID) bool { return !token.IsZero() && token == l.LeaseToken }

// Leased reports whether a worker holds a live lease at now.
func (l *Lease) Leased(now time.Time) bool {
	return !l.LeaseToken.IsZero() && now.Before(l.LeaseEndsAt)
}

// Lapsed reports whether a worker's lease has expired.
func (l *Lease) Lapsed(now time.Time) bool {
	return !l.LeaseToken.IsZero() && !now.Before(l.LeaseEndsAt)
}

// RetryClaim asks for errors that are due to be retried.
type RetryClaim struct {
	Tables       []string `json:"tables,omitempty" doc:"only these tables; default: every table that the key is for"`
	Worker       string   `json:"worker" doc:"a name for the history"`
	Limit        int      `json:"limit,omitempty" minimum:"0" maximum:"1000" default:"10" doc:"how many at most"`
	LeaseSeconds int      `json:"lease_seconds,omitempty" minimum:"0" doc:"how long the lease is; default: the policy's"`
	WaitSeconds  int      `json:"wait_seconds,omitempty" minimum:"0" maximum:"60" doc:"how long to wait if nothing is due"`
}

// Parking says how an error came to wait for a person (spec 000, 4.2).
type Parking struct {
	ParkedAt       time.Time  `json:"parked_at,omitzero" doc:"when it was parked"`
	ParkedBy       string     `json:"parked_by,omitempty" doc:"who parked it, or system"`
	ParkReason     ParkReason `json:"park_reason,omitempty" doc:"why it waits for a person"`
	AssignedTo     string     `json:"assigned_to,omitempty" doc:"to whom it was assigned"`
	LastReviewedAt time.Time  `json:"last_reviewed_at,omitzero" doc:"when a person last looked at it"`
}

// Escalation is the escalation tier of an error (spec 000, 10.2).
type Escalation struct {
	EscalationLevel  int       `json:"escalation_level" doc:"its tier: 0, not escalated, to 3"`
	EscalatedAt      time.Time `json:"escalated_at,omitzero" doc:"when it reached that tier"`
	EscalatedTo      string    `json:"escalated_to,omitempty" doc:"who owns that tier"`
	EscalationReason string    `json:"escalation_reason,omitempty" doc:"why it was escalated"`
	NextEscalationAt time.Time `json:"next_escalation_at,omitzero" doc:"when it moves up by itself"`
	ReviewDueAt      time.Time `json:"review_due_at,omitzero" doc:"until when a person should look at it"`
}

// Resolution says who ended an error, and how.
type Resolution struct {
	ResolvedAt       time.Time `json:"resolved_at,omitzero" doc:"when it was resolved"`
	ResolvedBy       string    `json:"resolved_by,omitempty" doc:"who resolved it"`
	ResolutionReason string    `json:"resolution_reason,omitempty" doc:"how"`
}

// Archive holds the fields that archiving adds to an error (spec 000, 7.3).
type Archive struct {
	ArchivedAt       time.Time     `json:"archived_at,omitzero" doc:"when it was archived"`
	ArchivedBy       string        `json:"archived_by,omitempty" doc:"who archived it, or system"`
	ArchiveReason    ArchiveReason `json:"archive_reason,omitempty" doc:"why"`
	FinalDisposition Disposition   `json:"final_disposition,omitempty" doc:"how it ended"`
	SupersededBy     ID            `json:"superseded_by,omitzero" doc:"the newer error that took its place"`
	PurgeAt          time.Time     `json:"purge_at,omitzero" doc:"when the archive deletes it"`
}

// Marks says when an error was last what metrics count. A metric counts an error in the minute
// of its mark: once in every window that includes that minute.
type Marks struct {
	RetriedAt     time.Time `json:"-"` // when a retry last ended, or a repeat used one up
	ExhaustedAt   time.Time `json:"-"` // when its retries were last exhausted
	LastParkedAt  time.Time `json:"-"` // when it last entered the park queue
	UnparkedAt    time.Time `json:"-"` // when it last left the park queue; zero while it is there
	DeescalatedAt time.Time `json:"-"` // when it last ceased to be escalated; zero while it is

	// Historic says that it stands where a report of the past has put it. Such errors count in
	// no rate and no alert, and the clock moves them without notifying anybody.
	Historic bool `json:"-"`
}

// Identity is what makes two reports reports of the same failure.
type Identity struct {
	Table  string // as it was reported
	Entity string
	Code   Code
}

// Identity returns what a repeat of e has in common with it.
func (e *Error) Identity() Identity {
	return Identity{cmp.Or(e.ReportedTable, e.Table), e.EntityID, e.Code}
}

// Public returns the error without its lease tokens, which only their workers may
// have.
func (e Error) Public() Error {
	e.LeaseToken, e.LastAttempt = ID{}, ID{}
	return e
}

// Owner returns who is to act on an open error: its assignee, else the owner
// of its tier, else the system, which retries or waits for the TTL.
func (e *Error) Owner() string {
	switch {
	case e.AssignedTo != "":
		return e.AssignedTo
	case e.EscalatedTo != "":
		return e.EscalatedTo
	}
	return System
}
