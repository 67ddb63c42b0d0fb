package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// plainSQL is a connection of somebody else, with the pragmas it has by default.
type plainSQL struct {
	testing.TB
	db *sql.DB
}

func connect(t testing.TB, path string) plainSQL {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return plainSQL{t, db}
}

var spelling = strings.NewReplacer("cl.gate", "gate", "{id}", "randomblob(16)", "{hour}", "3600000000", "{time}", "1770022800000000")

func (p plainSQL) Try(text string) error {
	tx, err := p.db.BeginTx(p.Context(), nil)
	if err != nil {
		p.Fatal(err)
	}
	_, err = tx.ExecContext(p.Context(), spelling.Replace(text))
	return errors.Join(err, tx.Rollback())
}

func (p plainSQL) Do(text string) {
	if _, err := p.db.ExecContext(p.Context(), spelling.Replace(text)); err != nil {
		p.Fatal(err)
	}
}

func (plainSQL) Refused(err error) bool {
	var fault *driver.Error
	return errors.As(err, &fault) && fault.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}

func (p plainSQL) lines(rows *sql.Rows) (list []string) {
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
