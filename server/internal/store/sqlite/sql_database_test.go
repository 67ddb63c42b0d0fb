package sqlite_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestSQL(t *testing.T) {
	t.Parallel()
	conformance.RunSQL(t, open(t).SQL(), sqldb.SQLite)
}

func TestSyncPolicy(t *testing.T) {
	t.Parallel()
	conformance.RunSyncPolicy(t, open(t))
}
