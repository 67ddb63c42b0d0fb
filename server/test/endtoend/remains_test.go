package endtoend

import (
	"bytes"
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver

	"github.com/recoup-dev/recoup/server/internal/test/tool"
)

// remains returns everything that a stopped node has left behind, by where it is:
// the rows of each table, and the files.
func remains(t *testing.T, d database) map[string]string {
	t.Helper()
	if d.Kind == "sqlite" {
		return sqliteRemains(t, strings.TrimPrefix(d.Owner, "sqlite:"))
	}
	return postgresRemains(t, d.Owner)
}

func sqliteRemains(t *testing.T, file string) map[string]string {
	t.Helper()
	kept := map[string]string{}
	names, err := filepath.Glob(file + "*") // with its log
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		kept[filepath.Base(name)] = string(raw)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, table := range column(t, db, `select name from sqlite_schema where type = 'table'`) {
		kept["table "+table] = rows(t, db, `select * from "`+table+`"`)
	}
	return kept
}

// column returns the first column of a query.
func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	var list []string
	for found.Next() {
		var s string
		if err := found.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// rows returns every text and every blob of a query. A value that the file keeps in pieces, on
// several pages, is whole here. Numbers are left out: they are times and counts, whose digits
// contain a short secret by chance.
func rows(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			switch v := v.(type) {
			case string:
				text.WriteString(v + "\n")
			case []byte:
				text.WriteString(string(v) + "\n")
			}
		}
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// postgresRemains copies out every table in the binary form, in which texts and
// bytes are as they are, and adds the server's log.
func postgresRemains(t *testing.T, address string) map[string]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	found, err := conn.Query(t.Context(), `select format('%I.%I', n.nspname, c.relname) from pg_class c
		join pg_namespace n on n.oid = c.relnamespace
		where c.relkind in ('r', 'm') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, table := range tables {
		var raw bytes.Buffer
		if _, err := conn.PgConn().CopyTo(t.Context(), &raw, "copy "+table+" to stdout (format binary)"); err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		kept["table "+table] = raw.String()
	}
	server, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(server.Query().Get("host"), "log"))
	if err != nil {
		t.Fatal(err)
	}
	kept["the server's log"] = string(log)
	kept["pg_dump"] = dumped(t, address)
	return kept
}

// dumped returns the database as pg_dump writes it.
func dumped(t *testing.T, address string) string {
	t.Helper()
	out, err := tool.Command(t.Context(), "pg_dump", "--dbname", address).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}
