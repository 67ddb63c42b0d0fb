package gatezero_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// postgresSQL is a session of another program.
type postgresSQL struct {
	testing.TB
	conn *pgx.Conn
}

func connectPostgres(t testing.TB, url string) postgresSQL {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return postgresSQL{t, conn}
}

var postgresText = strings.NewReplacer("{id}", "gen_random_uuid()", "{hour}", "interval '1 hour'", "{time}", "'2026-02-02Z'::timestamptz")

func (p postgresSQL) Try(sql string) error {
	tx, err := p.conn.Begin(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	_, err = tx.Exec(p.Context(), postgresText.Replace(sql))
	return errors.Join(err, tx.Rollback(p.Context()))
}

func (p postgresSQL) Do(sql string) {
	if _, err := p.conn.Exec(p.Context(), postgresText.Replace(sql)); err != nil {
		p.Fatal(err)
	}
}

func (postgresSQL) Refused(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && slices.Contains([]string{"RC001", "23514", "23505", "42501"}, server.Code)
}

func (p postgresSQL) Dump() string {
	var b strings.Builder
	for _, table := range []string{"batch", "intake", "recovery", "air"} {
		rows, _ := p.conn.Query(p.Context(), "select t::text from cl.gate_zero_"+table+" t order by 1")
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(lines) == 0 {
			p.Fatalf("%s has %d rows: %v", table, len(lines), err)
		}
		fmt.Fprintf(&b, "%s:\n%s\n", table, strings.Join(lines, "\n"))
	}
	return b.String()
}

// sqliteSQL is a connection of another program, with the pragmas it has by default.
type sqliteSQL struct {
	testing.TB
	db *sql.DB
}

func connectSQLite(t testing.TB, path string) sqliteSQL {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return sqliteSQL{t, db}
}

var sqliteText = strings.NewReplacer("cl.gate", "gate", "{id}", "randomblob(16)", "{hour}", "3600000000", "{time}", "1770022800000000")

func (p sqliteSQL) Try(text string) error {
	tx, err := p.db.BeginTx(p.Context(), nil)
	if err != nil {
		p.Fatal(err)
	}
	_, err = tx.ExecContext(p.Context(), sqliteText.Replace(text))
	return errors.Join(err, tx.Rollback())
}

func (p sqliteSQL) Do(text string) {
	if _, err := p.db.ExecContext(p.Context(), sqliteText.Replace(text)); err != nil {
		p.Fatal(err)
	}
}

func (sqliteSQL) Refused(err error) bool {
	var fault *driver.Error
	return errors.As(err, &fault) && fault.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}

func (p sqliteSQL) Dump() string {
	var b strings.Builder
	for _, table := range []string{"batch", "intake", "recovery", "air"} {
		rows, err := p.db.QueryContext(p.Context(), "select * from gate_zero_"+table+" order by 1")
		if err != nil {
			p.Fatal(err)
		}
		b.WriteString(table + ":\n")
		for _, line := range p.lines(rows) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func (p sqliteSQL) lines(rows *sql.Rows) (list []string) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		p.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			p.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%x", values))
	}
	if rows.Err() != nil || len(list) == 0 {
		p.Fatalf("%d rows: %v", len(list), rows.Err())
	}
	return list
}
