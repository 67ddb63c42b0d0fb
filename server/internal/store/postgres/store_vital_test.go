package postgres_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// The gate, and keys and sessions that were valid, have connections of their own: they answer
// while all others are taken. What may be made up never uses them.
func TestVitalConnections(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	giveBack, err := s.TakeAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer giveBack()
	if _, err := s.Blocking(t.Context(), []string{"CO-1"}, 10); err != nil {
		t.Error(err)
	}
	hash := sha256.Sum256([]byte("no such key"))
	if _, err := s.KeyByHash(t.Context(), hash, true); !errors.Is(err, sqldb.ErrNotFound) {
		t.Errorf("looking up a key that was valid: %v", err)
	}
	if _, err := s.Session(t.Context(), hash, true); !errors.Is(err, sqldb.ErrNotFound) {
		t.Errorf("looking up a session that was valid: %v", err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.KeyByHash(impatient, hash, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a key that may be made up does not wait for the others: %v", err)
	}
	if _, err := s.Session(impatient, hash, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a session that may be made up does not wait for the others: %v", err)
	}
}
