package postgres_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// plainSQL is a session of somebody else.
type plainSQL struct {
	testing.TB
	conn *pgx.Conn
}

func connect(t testing.TB, url string) plainSQL {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return plainSQL{t, conn}
}

var spelling = strings.NewReplacer("{id}", "gen_random_uuid()", "{hour}", "interval '1 hour'", "{time}", "'2026-02-02Z'::timestamptz")

func (p plainSQL) Try(sql string) error {
	tx, err := p.conn.Begin(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	_, err = tx.Exec(p.Context(), spelling.Replace(sql))
	return errors.Join(err, tx.Rollback(p.Context()))
}

func (p plainSQL) Do(sql string) {
	if _, err := p.conn.Exec(p.Context(), spelling.Replace(sql)); err != nil {
		p.Fatal(err)
	}
}

func (plainSQL) Refused(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && slices.Contains([]string{"RC001", "23514", "23505", "42501"}, server.Code)
}
