package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// selectSchema describes what is in a file, apart from what SQLite and the keeper of
// migrations have made, and the views that carry names of the policy, which have a dot.
// All triggers are described, whatever their names are.
const selectSchema = `select type, name, coalesce(sql, ''), tbl_name from sqlite_schema
	where type = 'trigger' or sql is not null and name not like 'sqlite\_%' escape '\' and name <> '` + versionTable + `' and (type <> 'view' or name not like '%.%') order by type, name`

// readSchema reads what the file has, and what it should have: what the migrations make
// in memory.
func readSchema(ctx context.Context, s *Store, _ store.Inspection, f *store.Facts) (err error) {
	if f.Present, err = readObjects(ctx, s.read.DB); err != nil {
		return err
	}
	expected, err := expectedSchema()
	f.Expected = slices.Clone(expected)
	return err
}

// expectedSchema returns what the migrations make. It is made once.
var expectedSchema = sync.OnceValues(func() ([]store.Object, error) { return migratedSchema(context.Background()) })

func migratedSchema(ctx context.Context) (list []store.Object, err error) {
	db, err := sql.Open(ownDriver, ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	for _, file := range files { // in the order of their numbers
		text, err := fs.ReadFile(migrationFiles, file)
		if err == nil {
			_, err = db.ExecContext(ctx, string(text))
		}
		if err != nil {
			return nil, err
		}
	}
	return readObjects(ctx, db)
}

func readObjects(ctx context.Context, db *sql.DB) ([]store.Object, error) {
	rows, err := db.QueryContext(ctx, selectSchema)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(o *store.Object) []any { return []any{&o.Kind, &o.Name, &o.Definition, &o.Table} })
}

// readNames reads what has the names that the policy gives.
func readNames(ctx context.Context, s *Store, i store.Inspection, f *store.Facts) error {
	if i.Policy == nil {
		return nil
	}
	var names []string
	for _, t := range i.Policy.Tables() {
		names = append(names, t.Name)
		if t.Archive != "" {
			names = append(names, t.Archive)
		}
	}
	for _, name := range names {
		n := store.NameFact{Name: name}
		err := s.read.QueryRowContext(ctx, `select coalesce((select case when type = 'view' then ? else type end from sqlite_schema where name = ?), ''),
			exists (select 1 from error_table where ? in (table_name, archive_name) and not retired)`, store.NameOurs, name, name).Scan(&n.Is, &n.Known)
		if err != nil {
			return err
		}
		f.Names = append(f.Names, n)
	}
	return nil
}

// missing reports whether a statement names what the file does not have: of statements
// that do not change, SQLite refuses for no other reason under this code.
func missing(err error) bool {
	var cause *sqlite.Error
	return errors.As(err, &cause) && cause.Code() == sqlite3.SQLITE_ERROR
}
