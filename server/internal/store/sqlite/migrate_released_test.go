package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// A file of every released version can be migrated and answers as it did, and no
// migration that was released has changed.
func TestReleased(t *testing.T) {
	t.Parallel()
	steps, err := store.ReadMigrations(os.DirFS("migrations"))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	conformance.Fill(t, s, gatezerotest.Filler())
	next := conformance.Release{Answers: conformance.Snapshot(t, s, gatezerotest.Filler()), Database: dumpFile(t, s.raw())}
	conformance.RunReleased(t, steps, next, func(t *testing.T, database string) conformance.Whole {
		t.Helper()
		path := filepath.Join(t.TempDir(), "recoup.db")
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.ExecContext(t.Context(), database)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return openAt(t, path)
	}, gatezerotest.Filler())
}

// dumpFile writes a file as SQL: its tables, then their rows, of which each has some, then
// what guards them.
func dumpFile(t *testing.T, db *sql.DB) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("pragma foreign_keys = off;\nbegin;\n")
	tables := column(t, db, `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by rowid`)
	for _, table := range tables {
		text.WriteString(column(t, db, `select sql from sqlite_schema where type = 'table' and name = ?`, table)[0] + ";\n")
		names := column(t, db, `select '"' || name || '"' from pragma_table_xinfo(?) where hidden = 0 order by cid`, table)
		rows := column(t, db, fmt.Sprintf(`select concat_ws(', ', quote(%s)) from "%s"`, strings.Join(names, "), quote("), table))
		if len(rows) == 0 {
			t.Errorf("%s has no row: nothing would show whether an upgrade keeps it", table)
		}
		for _, values := range rows {
			fmt.Fprintf(&text, "insert into \"%s\" (%s) values (%s);\n", table, strings.Join(names, ", "), values)
		}
	}
	for _, statement := range column(t, db, `select sql from sqlite_schema where type <> 'table' and sql is not null order by rowid`) {
		text.WriteString(statement + ";\n")
	}
	return text.String() + "commit;\n"
}

func column(t *testing.T, db *sql.DB, query string, args ...any) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		list = append(list, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
