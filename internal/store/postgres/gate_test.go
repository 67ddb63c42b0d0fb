package postgres_test

import (
	"testing"

	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/storetest"
)

func TestGate(t *testing.T) {
	t.Parallel()
	storetest.RunGate(t, func(t *testing.T) storetest.Gate {
		_, app := pgtest.Migrated(t)
		return open(t, app)
	})
}
