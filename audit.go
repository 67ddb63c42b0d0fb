package recoup

import "time"

// AuditEntry is one administrative act. Entries are append-only.
type AuditEntry struct {
	Seq     int64     `json:"seq"` // drawn by the database
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	KeyID   ID        `json:"key_id,omitzero"` // the key that the actor used; names are not unique
	Act     string    `json:"act"`
	Target  string    `json:"target,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Details JSON      `json:"details,omitempty"`
}

// AuditFilter selects administrative acts. All fields that are set must match.
type AuditFilter struct {
	Actor  string    `query:"actor"`
	Act    string    `query:"act"`
	Target string    `query:"target"`
	From   time.Time `query:"from"` // in [From, To)
	To     time.Time `query:"to"`
}
