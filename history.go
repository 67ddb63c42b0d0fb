package recoup

import "time"

// Transition is one row of an error's history: who did what, why, and what it
// changed. It is written in the same commit as the change and never again.
type Transition struct {
	ErrorID       ID        `json:"error_id" doc:"the error"`
	At            time.Time `json:"at" doc:"when it happened"`
	Input         string    `json:"input" doc:"what happened: report, park, fail and so on"`
	Actor         string    `json:"actor" doc:"who did it, or system"`
	Reason        string    `json:"reason,omitempty" doc:"why"`
	Before        Snapshot  `json:"before,omitzero" doc:"what changed, as it was; none: the error is new"`
	After         Snapshot  `json:"after" doc:"what changed, as it is"`
	PolicyVersion string    `json:"policy_version" doc:"the policy that decided"`

	// Of a worker's result: the attempt it belongs to. A claim writes no row of
	// its own, so this is where it can be read.
	Worker    string    `json:"worker,omitempty" doc:"of a result: the worker"`
	ClaimedAt time.Time `json:"claimed_at,omitzero" doc:"of a result: when the worker claimed it"`
	Attempt   ID        `json:"attempt,omitzero" doc:"of a result: the lease"`
}

// Snapshot is what of an error is worth comparing before and after.
type Snapshot struct {
	State           State       `json:"state,omitempty" doc:"its state"`
	Disposition     Disposition `json:"disposition,omitempty" doc:"what the policy decided"`
	Blocking        bool        `json:"blocking,omitempty" doc:"whether it blocks its entity"`
	EscalationLevel int         `json:"escalation_level,omitempty" doc:"its tier"`
	RetryCount      int         `json:"retry_count,omitempty" doc:"how often it was retried"`
	NextRetryAt     time.Time   `json:"next_retry_at,omitzero" doc:"when its next retry is due"`
	ExpiresAt       time.Time   `json:"expires_at,omitzero" doc:"when it is archived by itself"`
	Owner           string      `json:"owner,omitempty" doc:"who has to act on it"`
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
