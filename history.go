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
