package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/stream"
)

const (
	sessionMemory = 3 * time.Second // how long a cookie of no session is remembered
	maxRemembered = 10000           // sessions, and cookies of none
)

// sessionRing remembers which sessions this node has seen, and watches those that have streams.
type sessionRing struct {
	mu      sync.Mutex
	seen    map[[32]byte]bool      // hashes of sessions: these are looked up on reserved connections
	unknown map[[32]byte]time.Time // hashes of no session, until when that is remembered
	watched stream.Credentials
}

func newSessionRing() *sessionRing {
	return &sessionRing{seen: map[[32]byte]bool{}, unknown: map[[32]byte]time.Time{}}
}

func (s *sessionRing) has(hash [32]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[hash]
}

func (s *sessionRing) lacks(hash [32]byte, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.unknown[hash])
}

// note remembers whether a hash is of a session.
func (s *sessionRing) note(hash [32]byte, there bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there {
		if len(s.seen) >= maxRemembered {
			clear(s.seen)
		}
		s.seen[hash] = true
		delete(s.unknown, hash)
		return
	}
	if len(s.unknown) >= maxRemembered {
		clear(s.unknown)
	}
	s.unknown[hash] = now.Add(sessionMemory)
	delete(s.seen, hash)
}

// find returns the session of a request's cookie. A cookie that this node has not seen may be
// made up: its request counts as one without a key, and is not looked up on connections that
// are reserved for others.
func (c *Console) find(r *http.Request, hash [32]byte, now time.Time) (store.Session, error) {
	seen := c.ring.has(hash)
	if !seen {
		leave, err := c.Limit.Admit(r, true)
		if err != nil {
			return store.Session{}, err
		}
		defer leave()
		if c.ring.lacks(hash, now) {
			return store.Session{}, errSignedOut
		}
	}
	return c.look(r.Context(), hash, now, seen)
}

// look reads a session, or returns errSignedOut for one that has ended.
func (c *Console) look(ctx context.Context, hash [32]byte, now time.Time, seen bool) (store.Session, error) {
	found, err := c.Sessions.Session(ctx, hash, seen)
	if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
		return found, err
	}
	c.ring.note(hash, err == nil, now)
	if err != nil || !now.Before(found.EndsAt) || now.Sub(found.SeenAt) >= idleEnd {
		return found, errSignedOut
	}
	return found, nil
}

// watch returns a context that ends with a session, with errSignedOut as its cause. leave is to
// be called when the stream has ended. A store that does not answer ends nothing.
func (c *Console) watch(ctx context.Context, s session) (_ context.Context, leave func()) {
	hash := sha256.Sum256([]byte(s.token))
	return c.ring.watched.Watch(ctx, hash, func(ctx context.Context) error {
		if _, err := c.look(ctx, hash, c.Now(), true); errors.Is(err, errSignedOut) {
			return err
		}
		return nil
	})
}
