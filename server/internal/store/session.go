package store

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
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
var Sessions = sqldb.Table[Session]{Name: "recoup.session", Columns: []sqldb.Column[Session]{
	sqldb.Hash("session_hash", func(s *Session) *[32]byte { return &s.Hash }).Key(),
	sqldb.Hash("key_hash", func(s *Session) *[32]byte { return &s.KeyHash }).Fixed(),
	sqldb.Time("created_at", func(s *Session) *time.Time { return &s.CreatedAt }).Fixed(),
	sqldb.Time("seen_at", func(s *Session) *time.Time { return &s.SeenAt }),
	sqldb.Time("ends_at", func(s *Session) *time.Time { return &s.EndsAt }).Fixed(),
}}
