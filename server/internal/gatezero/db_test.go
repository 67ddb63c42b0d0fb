package gatezero_test

import (
	"path/filepath"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
)

func TestGatePostgres(t *testing.T) {
	t.Parallel()
	gatezerotest.Run(t, func(t *testing.T) gatezerotest.Database {
		_, app := pgtest.Migrated(t)
		return pgtest.OpenURL(t, app)
	})
}

func TestGateSQLite(t *testing.T) {
	t.Parallel()
	gatezerotest.Run(t, func(t *testing.T) gatezerotest.Database {
		return openSQLite(t, filepath.Join(t.TempDir(), "recoup.db"))
	})
}

// openSQLite opens a file, which is made if there is none.
func openSQLite(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
