package recoup

import "time"

// Transition is one row of an error's history: who did what, why, and what it
// changed. It is written in the same commit as the change and never again.
type Transition struct {
	ErrorID       ID        `json:"error_id"`
	At            time.Time `json:"at"`
	Input         string    `json:"input"` // the verb: report, park, fail, …
	Actor         string    `json:"actor"`
	Reason        string    `json:"reason,omitempty"`
	Before        Snapshot  `json:"before,omitzero"`
	After         Snapshot  `json:"after"`
	PolicyVersion string    `json:"policy_version"`

	// Of a worker's result: the attempt it belongs to. A claim writes no row of
	// its own, so this is where it can be read.
	Worker    string    `json:"worker,omitempty"`
	ClaimedAt time.Time `json:"claimed_at,omitzero"`
	Attempt   ID        `json:"attempt,omitzero"`
}

// Snapshot is what of an error is worth comparing before and after.
type Snapshot struct {
	State           State       `json:"state,omitempty"`
	Disposition     Disposition `json:"disposition,omitempty"`
	Blocking        bool        `json:"blocking,omitempty"`
	EscalationLevel int         `json:"escalation_level,omitempty"`
	RetryCount      int         `json:"retry_count,omitempty"`
	NextRetryAt     time.Time   `json:"next_retry_at,omitzero"`
	ExpiresAt       time.Time   `json:"expires_at,omitzero"`
	Owner           string      `json:"owner,omitempty"`
}

// Snapshot returns what of e is kept in a history row.
func (e *Error) Snapshot() Snapshot {
	return Snapshot{
		State:           e.State,
		Disposition:     e.Disposition,
		Blocking:        e.Blocking,
		EscalationLevel: e.EscalationLevel,
		RetryCount:      e.RetryCount,
		NextRetryAt:     e.NextRetryAt,
		ExpiresAt:       e.ExpiresAt,
		Owner:           e.Owner(),
	}
}

// NoticeKind says what a notice is about.
type NoticeKind string

// What people are told.
const (
	NoticeParked       NoticeKind = "PARKED"        // an error waits for its owner
	NoticeNotParked    NoticeKind = "NOT_PARKED"    // it should wait for a person, but its table has no PARK
	NoticeEscalated    NoticeKind = "ESCALATED"     // it moved up to its owner
	NoticeReviewMissed NoticeKind = "REVIEW_MISSED" // nobody reviewed it in time
	NoticeExpiring     NoticeKind = "EXPIRING"      // its expiry will unblock its entity
	NoticeUnblocked    NoticeKind = "UNBLOCKED"     // its expiry has unblocked its entity
	NoticePage         NoticeKind = "PAGE"          // an operator is needed now
	NoticePageOver     NoticeKind = "PAGE_OVER"     // what an operator was needed for has ended

	NoticeAlert         NoticeKind = "ALERT"          // rules hold, or still hold
	NoticeAlertResolved NoticeKind = "ALERT_RESOLVED" // they hold no more
	NoticeJobLate       NoticeKind = "JOB_LATE"       // what the clock should do is not done in time
	NoticeJobRecovered  NoticeKind = "JOB_RECOVERED"  // it has caught up
	NoticePolicyRefused NoticeKind = "POLICY_REFUSED" // a changed policy is bad, so the old one stays
	NoticeReplayStopped NoticeKind = "REPLAY_STOPPED" // a replay has stopped itself and waits for a person
)

// NoticeKinds returns all kinds.
func NoticeKinds() []NoticeKind {
	return []NoticeKind{
		NoticeParked, NoticeNotParked, NoticeEscalated, NoticeReviewMissed, NoticeExpiring, NoticeUnblocked, NoticePage, NoticePageOver,
		NoticeAlert, NoticeAlertResolved, NoticeJobLate, NoticeJobRecovered, NoticePolicyRefused,
		NoticeReplayStopped,
	}
}

// Notice is something that a transition causes to be said to someone.
type Notice struct {
	Kind NoticeKind `json:"kind"`
	To   string     `json:"to"`
}
