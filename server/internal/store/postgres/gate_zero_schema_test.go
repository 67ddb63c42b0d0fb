package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// strings runs a query whose rows are one text each.
func (p plainSQL) strings(sql string) []string {
	p.Helper()
	rows, _ := p.conn.Query(p.Context(), sql)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.Fatal(err)
	}
	return list
}

// Spec 004, 2: the columns, in their order, and that each has its comment.
func TestRecoveryColumns(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	got := connect(t, app).strings(`
		select attname || ' ' || format_type(atttypid, atttypmod) || case when attnotnull then '' else ' null' end
			|| case when col_description(attrelid, attnum) is null then ' without a comment' else '' end
		from pg_attribute where attrelid = 'cl.gate_zero_recovery'::regclass and attnum > 0 and not attisdropped order by attnum`)
	want := []string{
		"recovery_id uuid", "intake_id uuid", "batch_id text null", "failure_reason text", "attempt_count integer",
		"next_eligible_at timestamp with time zone", "status text",
		"created_at timestamp with time zone", "updated_at timestamp with time zone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the columns are\n%s", strings.Join(got, "\n"))
	}
}
