package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// Key is an API key of a program or a person. Its secret is returned once, by the call
// that creates the key, and never again.
type Key struct {
	ID         recoup.ID `json:"key_id" doc:"names the key"`
	Name       string    `json:"name" doc:"who uses it"`
	Role       string    `json:"role" enum:"ingest,worker,operator,admin,reader" doc:"what it may do"`
	Hubs       []string  `json:"hubs,omitempty" doc:"none: all"`
	Hint       string    `json:"hint" doc:"the beginning of the key"`
	Hash       [32]byte  `json:"-"` // of the secret, SHA-256; it never leaves a node
	CreatedAt  time.Time `json:"created_at" doc:"when it was made"`
	CreatedBy  string    `json:"created_by" doc:"who made it"`
	ExpiresAt  time.Time `json:"expires_at" doc:"when it expires; the year 1: never"` // zero: never
	RevokedAt  time.Time `json:"revoked_at,omitzero" doc:"when it was revoked"`
	RevokedBy  string    `json:"revoked_by,omitempty" doc:"who revoked it"`
	LastUsedAt time.Time `json:"last_used_at,omitzero" doc:"when it was last used, roughly"`
	RotatedTo  recoup.ID `json:"rotated_to,omitzero" doc:"the key that takes over from it"`
	Secret     string    `json:"key,omitempty" doc:"only in the answer that makes it"` // no store keeps it
}

// Valid reports whether the key is neither revoked nor expired at now.
func (k *Key) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// NewKey asks for a key.
type NewKey struct {
	Name   string   `json:"name" doc:"who uses it"`
	Role   string   `json:"role" enum:"ingest,worker,operator,admin,reader" doc:"what it may do"`
	Hubs   []string `json:"hubs,omitempty" doc:"the hubs that it is for; default: all"`
	Days   int      `json:"days,omitempty" minimum:"0" maximum:"90" default:"90" doc:"until it expires"`
	Reason string   `json:"reason,omitempty" doc:"why; the audit keeps it"`
}

// KeyPage is a page of keys.
type KeyPage struct {
	Keys []Key  `json:"keys" doc:"this page of the list"`
	Next string `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// KeyRotation asks for a key that replaces another.
type KeyRotation struct {
	Hours  *int   `json:"hours,omitempty" minimum:"0" maximum:"168" doc:"how long the old key still works; 0: it ends now; default 24"`
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// Reason is the body of a call that needs nothing else.
type Reason struct {
	Reason string `json:"reason,omitempty"`
}
