package store

import (
	"context"
	"time"
)

// SessionKeeper keeps who is signed in to the console. What a session may do is what its
// key may; whether that is still valid is for the caller to ask.
type SessionKeeper interface {
	// AddSession begins a session. A key has at most [MaxSessions]: the oldest ones end. A
	// session whose token is known is ErrConflict, and one of no key ErrRefused.
	AddSession(ctx context.Context, s Session) error

	// Session returns the session of a token, over or not, else ErrNotFound. Only a session
	// that the caller knows is read on connections that are reserved: tokens can be made up.
	Session(ctx context.Context, hash [32]byte, known bool) (Session, error)

	// TouchSession notes when a session was used last. It never goes back, and one that
	// is gone stays gone.
	TouchSession(ctx context.Context, hash [32]byte, at time.Time) error

	// EndSession deletes a session, if it is there.
	EndSession(ctx context.Context, hash [32]byte) error
}
