package postgres_test

import (
	"testing"

	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/conformance"
)

func TestGate(t *testing.T) {
	t.Parallel()
	conformance.RunGate(t, func(t *testing.T) conformance.Gate {
		_, app := pgtest.Migrated(t)
		return open(t, app)
	})
}
