package store

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/row"
)

// Session is somebody who signed in to the console with an API key. Neither the key's
// secret nor the token that the browser has is kept, only their hashes.
type Session struct {
	Hash      [32]byte // of the token, SHA-256
	KeyHash   [32]byte // of the secret of the key, as the key has it
	CreatedAt time.Time
	SeenAt    time.Time
	EndsAt    time.Time // at the latest, however often it is used
}

// MaxSessions is how many sessions a key has at most.
const MaxSessions = 20

// Sessions describes the rows of sessions.
var Sessions = row.Table[Session]{Name: "recoup.session", Columns: []row.Column[Session]{
	row.Hash("session_hash", func(s *Session) *[32]byte { return &s.Hash }).Key(),
	row.Hash("key_hash", func(s *Session) *[32]byte { return &s.KeyHash }).Fixed(),
	row.Time("created_at", func(s *Session) *time.Time { return &s.CreatedAt }).Fixed(),
	row.Time("seen_at", func(s *Session) *time.Time { return &s.SeenAt }),
	row.Time("ends_at", func(s *Session) *time.Time { return &s.EndsAt }).Fixed(),
}}
