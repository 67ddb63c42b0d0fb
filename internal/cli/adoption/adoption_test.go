package adoption_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"recoup/internal/adopt"
	"recoup/internal/cli/clitest"
	"recoup/internal/store/postgres/pgtest"
)

// shop is a database with a policy's table and one that was there before.
func shop(t *testing.T, ddl string) (url string, exec func(sql string)) {
	t.Helper()
	url, _ = pgtest.Migrated(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	exec = func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec(`insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, ttl, blocks, policy_version)
		values ('shop.errors', 'shop', 'order_id', '{RETRY,PARKED,ARCHIVE,RESOLVED}', 'RETRY', '30 days', true, '1.0.0')`)
	exec("create schema shop; " + ddl)
	return url, exec
}

const failures = `create table shop.failures (id bigint generated always as identity primary key, order_id text, kind smallint, error_message text,
	severity text, created_at timestamp, disposition int, status text);
	insert into shop.failures (order_id, kind, error_message, severity, created_at, status)
	select nullif('o' || n, 'o7'), n % 3, 'it failed', 'warning', now() - n * interval '1 day', case when n > 40 then 'done' end from generate_series(1, 50) n`

// TestPlanGolden compares a plan with how it looked before. No line is wider than 80 columns.
func TestPlanGolden(t *testing.T) {
	url, _ := shop(t, failures)
	out, stderr, status := clitest.Run(t, "adopt", "shop.failures", "--as", "shop.errors", "--resolved-when", "status = 'done'", "--database", url)
	if status != 0 {
		t.Fatal(out, stderr)
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	clitest.Golden(t, "plan.golden", out)
}

// TestPlanPrintsWhatRuns adopts a table by running what a plan prints, statement by
// statement, and compares with what --apply makes.
func TestPlanPrintsWhatRuns(t *testing.T) {
	byHand, exec := shop(t, failures)
	out, _, _ := clitest.Run(t, "adopt", "shop.failures", "--as", "shop.errors", "--json", "--database", byHand)
	var plan adopt.Plan
	clitest.Parse(t, out, &plan)
	for _, s := range plan.Steps {
		exec("begin")
		for _, sql := range s.SQL {
			exec(sql)
		}
		exec("commit")
	}
	exec("insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, begun_by) select 'x', 'x', 0, 'x', '{x}', '{}', 'x'; select recoup.watch_errors()")
	byCommand, _ := shop(t, failures)
	if out, stderr, status := clitest.Run(t, "adopt", "shop.failures", "--as", "shop.errors", "--apply", "--yes", "--database", byCommand); status != 0 {
		t.Fatal(out, stderr)
	}
	if one, two := pgtest.DumpSchema(t, byHand), pgtest.DumpSchema(t, byCommand); one != two {
		t.Error("what the plan prints makes another definition than what --apply runs")
	}
}
