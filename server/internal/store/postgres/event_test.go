package postgres_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	conformance.RunLedger(t, func(t *testing.T) conformance.Ledger {
		_, app := pgtest.Migrated(t)
		return open(t, app)
	})
}
