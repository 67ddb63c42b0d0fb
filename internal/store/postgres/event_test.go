package postgres_test

import (
	"testing"

	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/conformance"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	conformance.RunLedger(t, func(t *testing.T) conformance.Ledger {
		_, app := pgtest.Migrated(t)
		return open(t, app)
	})
}
