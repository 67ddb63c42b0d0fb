package postgres_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

// TestPlainPlan has a database with 2,000 columns of other tables. The check that runs whenever a node
// starts reads the parts of the version tables only.
func TestPlainPlan(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	owner.run(`do $$ begin
		for i in 1 .. 200 loop
			execute format('create table public.other_%s (id bigint primary key, ' ||
				(select string_agg('c' || n || ' text default upper(''x'') check (c' || n || ' <> '''')', ', ') from generate_series(1, 10) n) || ')', i);
		end loop;
	end $$`)
	const most = 1000
	plan := explain(prompt{t, owner.Conn}, postgres.PlannedPlain())
	if n := rowsOf(plan, "pg_depend"); n == 0 || n > most {
		t.Errorf("reads %.0f rows of pg_depend, want 1 to %d\n%s", n, most, outline(plan, ""))
	}
}

// rowsOf counts the rows that a plan reads of a table.
func rowsOf(n node, table string) (sum float64) {
	if n.Relation == table {
		sum = n.Loops * (n.Rows + n.Filtered)
	}
	for _, child := range n.Plans {
		sum += rowsOf(child, table)
	}
	return sum
}
