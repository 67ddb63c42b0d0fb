package recoup

import "time"

// Key is an API key of a program or a person. Its secret is returned once, by the call
// that creates the key, and never again.
type Key struct {
	ID         ID        `json:"key_id"`
	Name       string    `json:"name"`
	Role       string    `json:"role" enum:"ingest,worker,operator,admin,reader"`
	Hubs       []string  `json:"hubs,omitempty" doc:"none: all"`
	Hint       string    `json:"hint" doc:"the beginning of the key"`
	Hash       [32]byte  `json:"-"` // of the secret, SHA-256; it never leaves a node
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by"`
	ExpiresAt  time.Time `json:"expires_at"` // zero: never
	RevokedAt  time.Time `json:"revoked_at,omitzero"`
	RevokedBy  string    `json:"revoked_by,omitempty"`
	LastUsedAt time.Time `json:"last_used_at,omitzero"`
	RotatedTo  ID        `json:"rotated_to,omitzero"`                                  // the key that takes over from it
	Secret     string    `json:"key,omitempty" doc:"only in the answer that makes it"` // no store keeps it
}

// Valid reports whether the key is neither revoked nor expired at now.
func (k *Key) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}
