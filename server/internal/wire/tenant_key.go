package wire

import (
	"time"
)

// TenantKey is a key that tenants are hashed with in the ledger, without its
// secret.
type TenantKey struct {
	ID        string    `json:"key_id" doc:"names the key"`
	CreatedAt time.Time `json:"created_at" doc:"since when it is used"`
	Current   bool      `json:"current" doc:"it hashes what is new; the others only find what they hashed"`
}

// TenantKeyList lists tenant keys.
type TenantKeyList struct {
	Keys []TenantKey `json:"keys" doc:"all of them"`
}
