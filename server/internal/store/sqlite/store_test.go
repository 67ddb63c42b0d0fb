package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// opened is a store together with the path of its file.
type opened struct {
	*sqlite.Store
	testing.TB
	path string
}

// open returns a fresh store in a folder of its own.
func open(t testing.TB) opened {
	t.Helper()
	return openAt(t, sqlitetest.File(t, t.TempDir()))
}

func openAt(t testing.TB, path string) opened {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened{s, t, path}
}

// Error is the store's, not the test's.
func (o opened) Error(ctx context.Context, id recoup.ID) (recoup.Error, error) {
	return o.Store.Error(ctx, id)
}

// Reopen opens the file as another process would.
func (o opened) Reopen(ctx context.Context) (conformance.Store, error) {
	return sqlite.Open(ctx, o.path, sqlite.Options{})
}

// RawInsert writes a row with plain SQL. There are no defaults of the policy
// here as the views of PostgreSQL have them, so it reads them from the mirror.
func (o opened) RawInsert(ctx context.Context, table, entity string, code recoup.Code) error {
	_, err := o.raw().ExecContext(ctx, `insert into error (table_name, entity_id, code, disposition, blocking)
		select table_name, ?, ?, default_disposition, blocks and ? <> '' and default_disposition in ('RETRY', 'PARKED')
		from error_table where table_name = ?`, entity, string(code), entity, table)
	return err
}

// raw opens the file as a foreign program would: with SQLite's own defaults.
func (o opened) raw() *sql.DB {
	o.Helper()
	db, err := sql.Open("sqlite", o.path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		o.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	o.Cleanup(func() {
		if err := db.Close(); err != nil {
			o.TB.Error(err)
		}
	})
	return db
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Store { return open(t) })
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is not a database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ path, want string }{
		{":memory:", "in memory is not supported"},
		{"file::memory:?cache=shared", "in memory is not supported"},
		{"", "not the path of a file"},
		{filepath.Join(folder, "no", "recoup.db"), "does not exist: create it first"},
		{folder, "is a folder"},
		{text, "not a database"},
	} {
		s, err := sqlite.Open(t.Context(), row.path, sqlite.Options{})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v, want %q", row.path, err, row.want)
		}
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(folder, "x"), sqlite.Options{Readers: -1}); err == nil {
		t.Error("fewer than no readers were accepted")
	}
}

// A name may have whatever a file system allows.
func TestOpenTakesAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "what?.db", "50%.db", "a#b", "ü&=.db"} {
		path := filepath.Join(t.TempDir(), name)
		s := openAt(t, path)
		if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// What is recorded about failures is for its owner's eyes.
func TestOpenMakesPrivateFiles(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "recoup.db"))
	if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(s.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o", info.Name(), got)
		}
	}
	files, err := filepath.Glob(filepath.Dir(s.path) + "/*")
	if err != nil || len(files) != 3 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// Ten nodes that start at once on nothing find one schema.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		path := filepath.Join(t.TempDir(), "recoup.db")
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				err = errors.Join(s.SyncTables(t.Context(), policy.Default()), s.Close())
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var applied int
		err := openAt(t, path).raw().QueryRow(`select count(*) from schema_version where version_id > 0`).Scan(&applied)
		if migrations, _ := filepath.Glob("migrations/*.sql"); err != nil || applied != len(migrations) {
			t.Errorf("%d migrations were applied, want %d (%v)", applied, len(migrations), err)
		}
	}
}

func TestOlderBinaryRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	s := open(t)
	if _, err := s.raw().Exec(`insert into schema_version (version_id, is_applied) values (999, 1)`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reopen(t.Context()); !errors.Is(err, store.ErrSchemaNewer) {
		t.Errorf("got %v", err)
	}
}

// A file whose migrations had another text than this binary's, as unreleased builds have
// had them, is refused before anything is changed, with what it is and the way on.
func TestForeignSchema(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"another text": "update schema_checksum set sum = printf('%064d', 0) where version = 3",
		"an older set": "drop table schema_checksum",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			if _, err := s.raw().Exec(change); err != nil {
				t.Fatal(err)
			}
			picture := func() []string {
				return append(column(t, s.raw(), `select concat(name, sql) from sqlite_schema order by 1`), column(t, s.raw(), `select version_id from schema_version`)...)
			}
			before := picture()
			_, openErr := s.Reopen(t.Context())
			_, statusErr := sqlite.Status(t.Context(), s.path)
			for verb, err := range map[string]error{"migrate": sqlite.Migrate(t.Context(), s.path), "open": openErr, "status": statusErr} {
				if !errors.Is(err, store.ErrSchemaForeign) || !strings.Contains(err.Error(), "start this binary on an empty database") {
					t.Errorf("%s: %v", verb, err)
				}
			}
			if !slices.Equal(picture(), before) {
				t.Error("something was changed all the same")
			}
		})
	}
}

// An upgrade needs the file to itself: a process with an older binary would
// write into a schema that it does not know.
func TestUpgradeWaitsForOthers(t *testing.T) {
	t.Parallel()
	s := open(t)
	if _, err := s.raw().Exec(`delete from schema_version where version_id = (select max(version_id) from schema_version)`); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), s.path, sqlite.Options{Busy: 1})
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("got %v", err)
	}
}
