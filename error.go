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
	ID            ID       `json:"error_id"`
	Table         string   `json:"table"`
	ReportedTable string   `json:"reported_table,omitempty"` // of an orphan: the table its report named
	EntityID      string   `json:"entity_id,omitempty"`
	Code          Code     `json:"code"`
	Severity      Severity `json:"severity,omitempty"`
	Category      Category `json:"category"`
	Class         Class    `json:"class"`
	Message       string   `json:"message,omitempty"`
	CorrelationID ID       `json:"correlation_id,omitzero"`
	PolicyVersion string   `json:"policy_version"`

	State       State       `json:"state"`
	Disposition Disposition `json:"disposition"`
	Blocking    bool        `json:"blocking"` // blocks its entity right now
	Replaceable bool        `json:"-"`        // a newer report of the same failure takes its place

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // zero in INFINITE tables

	Retry
	Lease
	Parking
	Escalation
	Resolution
	Archive

	// NextReminderAt is when its owner is next notified without a change of state:
	// of a missed review, or of an expiry that will unblock its entity. RemindedAt
	// is up to when that has been done.
	NextReminderAt time.Time `json:"next_reminder_at,omitzero"`
	RemindedAt     time.Time `json:"reminded_at,omitzero"`
}

// Retry is the retry state of an error (spec 000, 5.2).
type Retry struct {
	RetryCount      int       `json:"retry_count"`
	MaxRetries      int       `json:"max_retries"`
	LastRetryAt     time.Time `json:"last_retry_at,omitzero"`
	NextRetryAt     time.Time `json:"next_retry_at,omitzero"`
	RetryExhausted  bool      `json:"retry_exhausted"`
	WindowEndsAt    time.Time `json:"retry_window_ends_at,omitzero"` // zero: no window
	LastFailureCode Code      `json:"last_failure_code,omitempty"`
	StreakFamily    string    `json:"streak_family,omitempty"` // the family in which its failures were counted last
	StreakCount     int       `json:"streak_count,omitempty"`  // how many the entity had of that family, this error's last among them
	LastAttempt     ID        `json:"last_attempt,omitzero"`   // token of the lease that ended last
	LastResult      string    `json:"last_result,omitempty"`   // how it ended: succeed, fail, lapse (it expired), or empty if it was revoked
}

// Lease is a worker's exclusive right to an error, or to other work, until a time. The
// token is its fence: a result that carries another one is refused.
type Lease struct {
	LeaseToken  ID        `json:"lease_token,omitzero" doc:"only for the worker that has claimed it"`
	LeaseWorker string    `json:"lease_worker,omitempty"`
	LeasedAt    time.Time `json:"leased_at,omitzero"`
	LeaseEndsAt time.Time `json:"lease_ends_at,omitzero"`
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
	Tables       []string `json:"tables,omitempty" doc:"default: every table that the key is for"`
	Worker       string   `json:"worker" doc:"a name for the history"`
	Limit        int      `json:"limit,omitempty" minimum:"0" maximum:"1000" doc:"default 10"`
	LeaseSeconds int      `json:"lease_seconds,omitempty" minimum:"0" doc:"default: the policy's"`
	WaitSeconds  int      `json:"wait_seconds,omitempty" minimum:"0" maximum:"60" doc:"how long to wait if nothing is due"`
}

// Parking says how an error came to wait for a person (spec 000, 4.2).
type Parking struct {
	ParkedAt       time.Time  `json:"parked_at,omitzero"`
	ParkedBy       string     `json:"parked_by,omitempty"`
	ParkReason     ParkReason `json:"park_reason,omitempty"`
	AssignedTo     string     `json:"assigned_to,omitempty"`
	LastReviewedAt time.Time  `json:"last_reviewed_at,omitzero"`
}

// Escalation is the escalation tier of an error (spec 000, 10.2).
type Escalation struct {
	EscalationLevel  int       `json:"escalation_level"`
	EscalatedAt      time.Time `json:"escalated_at,omitzero"`
	EscalatedTo      string    `json:"escalated_to,omitempty"`
	EscalationReason string    `json:"escalation_reason,omitempty"`
	NextEscalationAt time.Time `json:"next_escalation_at,omitzero"`
	ReviewDueAt      time.Time `json:"review_due_at,omitzero"`
}

// Resolution says who ended an error, and how.
type Resolution struct {
	ResolvedAt       time.Time `json:"resolved_at,omitzero"`
	ResolvedBy       string    `json:"resolved_by,omitempty"`
	ResolutionReason string    `json:"resolution_reason,omitempty"`
}

// Archive holds the fields that archiving adds to an error (spec 000, 7.3).
type Archive struct {
	ArchivedAt       time.Time     `json:"archived_at,omitzero"`
	ArchivedBy       string        `json:"archived_by,omitempty"`
	ArchiveReason    ArchiveReason `json:"archive_reason,omitempty"`
	FinalDisposition Disposition   `json:"final_disposition,omitempty"`
	SupersededBy     ID            `json:"superseded_by,omitzero"`
	PurgeAt          time.Time     `json:"purge_at,omitzero"` // the end of the archive's retention
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
