package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store/postgres/pgtest"
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

// Spec 004, 10: both queries, as they are written there, over rows that plain
// SQL has brought.
func TestGateQueries(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	p := connect(t, app)
	for _, sql := range []string{
		`insert into cl.gate_zero_batch (batch_id) values ('2025_annual_outreach')`,
		`insert into cl.gate_zero_intake (batch_id, company_name)
			select '2025_annual_outreach', 'company ' || n from generate_series(1, 6) n`,
		`update cl.gate_zero_intake set status = 'FAILED'`,
		`insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, created_at, updated_at, next_eligible_at)
			select intake_id, batch_id, 'TIMEOUT', now() - interval '9 days', now() - interval '9 days',
				now() - right(company_name, 1)::int * interval '1 day'
			from cl.gate_zero_intake where company_name <> 'company 6'`,
		`insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason)
			select intake_id, batch_id, 'TIMEOUT' from cl.gate_zero_intake where company_name = 'company 6'`,
		`update cl.gate_zero_recovery set status = 'EXHAUSTED', updated_at = now()
			where intake_id in (select intake_id from cl.gate_zero_intake where company_name in ('company 4', 'company 5'))`,
	} {
		p.Do(sql)
	}
	eligible := `SELECT r.recovery_id, r.intake_id, r.attempt_count, i.company_name
FROM cl.gate_zero_recovery r
JOIN cl.gate_zero_intake i ON r.intake_id = i.intake_id
WHERE r.status = 'ACTIVE'
  AND r.next_eligible_at <= now()
ORDER BY r.next_eligible_at ASC`
	if got := p.strings("select company_name from (" + eligible + ") e"); !slices.Equal(got, []string{"company 3", "company 2", "company 1"}) {
		t.Errorf("eligible are %v", got)
	}
	exhausted := `SELECT r.intake_id, r.failure_reason, r.attempt_count
FROM cl.gate_zero_recovery r
WHERE r.status = 'EXHAUSTED'
  AND r.batch_id = '2025_annual_outreach'`
	if got := p.strings("select failure_reason || attempt_count from (" + exhausted + ") e"); !slices.Equal(got, []string{"TIMEOUT1", "TIMEOUT1"}) {
		t.Errorf("exhausted are %v", got)
	}
}
