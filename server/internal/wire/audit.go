package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// AuditEntry is one administrative act. Entries are append-only.
type AuditEntry struct {
	Seq     int64       `json:"seq" doc:"its place in the audit"` // drawn by the database
	At      time.Time   `json:"at" doc:"when it was done"`
	Actor   string      `json:"actor" doc:"who did it"`
	KeyID   recoup.ID   `json:"key_id,omitzero" doc:"the key that the actor used; names are not unique"`
	Act     string      `json:"act" doc:"what was done, such as key.create or policy.apply"`
	Target  string      `json:"target,omitempty" doc:"to what"`
	Reason  string      `json:"reason,omitempty" doc:"why, as the actor said"`
	Details recoup.JSON `json:"details,omitempty" doc:"more, by the kind of act"`
}

// AuditFilter selects administrative acts. All fields that are set must match.
type AuditFilter struct {
	Actor  string    `query:"actor" doc:"who did it"`
	Act    string    `query:"act" doc:"what was done, such as key.create"`
	Target string    `query:"target" doc:"to what"`
	From   time.Time `query:"from" doc:"done at or after"` // in [From, To)
	To     time.Time `query:"to" doc:"done before"`
}

// AuditPage is a page of the audit, newest first.
type AuditPage struct {
	Entries []AuditEntry `json:"entries" doc:"this page of the list"`
	Next    string       `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}
