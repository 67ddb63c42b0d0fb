package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
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

func (p plainSQL) Dump() string {
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

// What is forbidden is forbidden to nodes, and to the schema's owner as long as
// the guards stand.
func TestGateActs(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"recoup_app", "owner"} {
		t.Run(role, func(t *testing.T) {
			owner, app := pgtest.Migrated(t)
			as := map[string]string{"recoup_app": app, "owner": owner}[role]
			conformance.RunGateActs(t, open(t, app), connect(t, as),
				"truncate cl.gate_zero_recovery cascade", "truncate cl.gate_zero_intake cascade",
				"truncate cl.gate_zero_air", "truncate cl.gate_zero_batch")
		})
	}
}
