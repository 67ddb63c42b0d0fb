package postgres_test

import (
	"crypto/sha256"
	"errors"
	"testing"

	"recoup/internal/store"
	"recoup/internal/store/postgres"
	"recoup/internal/store/postgres/pgtest"
)

// The gate and the keys have connections of their own: they answer while all others
// are taken.
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
	if _, err := s.KeyByHash(t.Context(), sha256.Sum256([]byte("no such key"))); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("looking a key up: %v", err)
	}
}
