package wire

import (
	"time"
)

// PayloadKey is a key that payloads and the outputs of stages are encrypted with,
// without its secret.
type PayloadKey struct {
	ID        string    `json:"key_id" doc:"names the key"`
	CreatedAt time.Time `json:"created_at" doc:"since when it is used"`
	Current   bool      `json:"current" doc:"it seals what is new; the others only open what they sealed"`
	WrappedBy string    `json:"wrapped_by,omitempty" doc:"the master key that it is sealed with in the database; empty: it lies there as it is"`
}

// PayloadKeyList lists payload keys.
type PayloadKeyList struct {
	Keys []PayloadKey `json:"keys" doc:"all of them"`
}

// KeysWrapped is how many of the platform's keys were encrypted, and by which master
// key.
type KeysWrapped struct {
	Wrapped   int    `json:"wrapped" doc:"how many keys were encrypted"`
	WrappedBy string `json:"wrapped_by" doc:"the master key's name"`
}
