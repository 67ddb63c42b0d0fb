package postgres_test

import (
	"testing"

	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/storetest"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	storetest.RunLedger(t, func(t *testing.T) storetest.Ledger {
		_, app := pgtest.Migrated(t)
		return open(t, app)
	})
}
