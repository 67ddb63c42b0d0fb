package postgres_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestSQL(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	conformance.RunSQL(t, open(t, app).SQL(), sqldb.PostgreSQL)
}

func TestSyncPolicy(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	conformance.RunSyncPolicy(t, open(t, app))
}
