package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// The gate, readiness, and keys and sessions that were valid have connections of their own: they
// answer while lists have taken all others. What may be made up never uses them.
func TestVitalConnections(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for range s.read.Stats().MaxOpenConnections {
		conn, err := s.read.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	if _, err := s.Blocking(t.Context(), []string{"CO-1"}, 10); err != nil {
		t.Error(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	hash := sha256.Sum256([]byte("no such key"))
	if _, err := s.KeyByHash(t.Context(), hash, true); !errors.Is(err, sqldb.ErrNotFound) {
		t.Errorf("looking up a key that was valid: %v", err)
	}
	if _, err := s.Session(t.Context(), hash, true); !errors.Is(err, sqldb.ErrNotFound) {
		t.Errorf("looking up a session that was valid: %v", err)
	}
	waits := func(what string, look func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		before := s.read.Stats().WaitCount
		go func() { failed <- look(ctx) }()
		for s.read.Stats().WaitCount == before {
			select {
			case err := <-failed:
				t.Fatalf("%s that may be made up does not wait for the others: %v", what, err)
			default:
			}
		}
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	waits("a key", func(ctx context.Context) error { _, err := s.KeyByHash(ctx, hash, false); return err })
	waits("a session", func(ctx context.Context) error { _, err := s.Session(ctx, hash, false); return err })
}
