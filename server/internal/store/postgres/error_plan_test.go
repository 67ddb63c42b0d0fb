package postgres_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// fill makes 100,000 errors as two months of life leave them, and an archive.
// Few are resolved, because sweeps archive those at once. The guards are put
// aside: they are not the question here.
const fill = `
alter table recoup.error disable trigger user;
alter table recoup.error_archive disable trigger user;
insert into recoup.error (table_name, entity_id, code, category, class, policy_version, state, disposition, blocking, created_at,
	expires_at, max_retries, next_retry_at, retry_window_ends_at, parked_at, park_reason, escalated_to,
	assigned_to, escalation_level, next_escalation_at, next_reminder_at, resolved_at, replaceable, group_id)
select t, 'CO-' || i / 5, case when i % 5000 = 61 then 'RARE' else 'CODE_' || i % 5 end, 'TRANSIENT', 'immediate', '1.0.0', s,
	case s when 'RETRY_PENDING' then 'RETRY' when 'RESOLVED' then 'RESOLVED' when 'ACTIVE' then 'ARCHIVE' else 'PARKED' end,
	s in ('RETRY_PENDING', 'PARKED', 'ESCALATED'), $1::timestamptz - i * interval '50 seconds',
	$1::timestamptz - i * interval '50 seconds' + interval '60 days', 5,
	case s when 'RETRY_PENDING' then $1::timestamptz + (i % 2000 - 1000) * interval '1 minute' end,
	case s when 'RETRY_PENDING' then $1::timestamptz + (i % 2000 - 20) * interval '1 minute' end,
	case when s in ('PARKED', 'ESCALATED') then $1::timestamptz - i * interval '40 seconds' end,
	case when s in ('PARKED', 'ESCALATED') then 'DATA_QUALITY' end, case when s in ('PARKED', 'ESCALATED') then 'team' end,
	case when s in ('PARKED', 'ESCALATED') and i % 3 = 0 then 'ada' end, case s when 'ESCALATED' then 2 + (i % 5000 = 71)::int else 0 end,
	case s when 'PARKED' then $1::timestamptz + (i % 1000 - 50) * interval '1 hour' end,
	case when i % 2 = 0 then $1::timestamptz + (i % 5000 - 50) * interval '1 hour' end,
	case s when 'RESOLVED' then $1::timestamptz - i * interval '1 second' end, s <> 'RESOLVED', ('00000000-0000-0000-0000-' || lpad((i % 500)::text, 12, '0'))::uuid
from (select i, (array['outreach.dol_errors', 'outreach.company_target_errors', 'people.people_errors', 'company.url_discovery_failures'])[i % 4 + 1] as t,
	case when i % 500 = 0 then 'RESOLVED' when i % 100 < 60 then 'RETRY_PENDING' when i % 100 < 70 then 'PARKED'
		when i % 100 < 72 then 'ESCALATED' else 'ACTIVE' end as s
	from generate_series(1, 100000) i) x;
insert into recoup.error_group (group_id, table_name, code, first_seen_at, last_seen_at, total, active, retry_pending, parked, escalated, resolved)
select group_id, table_name, min(code), min(created_at), max(created_at), count(*), count(*), 0, 0, 0, 0 from recoup.error group by 1, 2;
insert into recoup.due (error_id, table_name, policy_version, due_at, window_ends_at, expires_at, lease_token, leased_at, lease_ends_at)
select error_id, table_name, policy_version, next_retry_at, retry_window_ends_at, expires_at, case when held then gen_random_uuid() end,
	case when held then $1::timestamptz end, case when held then $1::timestamptz + (n % 200 - 20) * interval '1 second' end
from (select *, n % 40 = 3 as held from (select *, row_number() over () as n from recoup.error where state = 'RETRY_PENDING') x) x;
insert into recoup.lease select leased_at, lease_ends_at, array[error_id] from recoup.due where lease_token is not null;
insert into recoup.resolved select resolved_at, error_id from recoup.error where state = 'RESOLVED';
insert into recoup.error_archive (error_id, table_name, entity_id, code, state, disposition, archived_at, archived_by, archive_reason, final_disposition, purge_at,
	was_state, was_blocking, end_seq, end_input, end_policy)
select gen_random_uuid(), 'outreach.dol_errors', 'CO-' || i / 5, 'X', 'ARCHIVED', 'RETRY', $1::timestamptz - i * interval '1 minute', 'system',
	'TTL_EXPIRED', 'RETRY', $1::timestamptz + interval '1 year',
	'RETRY_PENDING', false, i, 'expire', '1.0.0' from generate_series(1, 20000) i`

// node is a node of a plan, as EXPLAIN reports it.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Plans    []node  `json:"Plans"`
}

// Every statement against a table that grows finds its rows by an index, reads
// few that it does not want, and sorts no more than a page of each group, with
// the planner free to choose.
func TestPlans(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	now, size := conformance.Epoch(), 50
	for _, sql := range strings.Split(fill, ";\n") {
		if strings.Contains(sql, "$1") {
			sql = strings.ReplaceAll(sql, "$1", "'"+now.Format(time.RFC3339)+"'")
		}
		owner.run(sql)
	}
	owner.run("analyze recoup.error, recoup.due, recoup.lease, recoup.resolved, recoup.error_archive, recoup.error_table, recoup.error_group")
	id := ask[recoup.ID](owner, "select error_id from recoup.error limit 1")
	tables := []string{dol, "outreach.company_target_errors", "people.people_errors"}
	list := s.PlannedStatements(now, size, tables, "CO-77", "CODE_2", id)
	list = append(list,
		postgres.Planned{Name: "spec 000, 6.3", SQL: promotionCheck(t, dol), Args: []any{"CO-77"}},
		postgres.Planned{Name: "archive", SQL: "select * from outreach.dol_errors_archive order by archived_at desc, error_id desc limit 50"},
	)
	groups := len(policy.Default().Tables())
	for _, p := range list {
		t.Run(p.Name, func(t *testing.T) {
			plan := explain(prompt{t, owner.Conn}, p)
			for _, problem := range problems(plan, float64(size*groups)) {
				t.Errorf("%s\n%s", problem, outline(plan, ""))
			}
		})
	}
}

func explain(p prompt, statement postgres.Planned, before ...string) node {
	p.Helper()
	p.run("begin")
	defer p.run("rollback")
	for _, sql := range before {
		p.run(sql)
	}
	var answer []byte
	if err := p.QueryRow(p.Context(), "explain (analyze, format json) "+statement.SQL, statement.Args...).Scan(&answer); err != nil {
		p.Fatal(err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal(answer, &plans); err != nil {
		p.Fatal(err)
	}
	return plans[0].Plan
}

// problems names what is wrong with a plan, if it may read and sort so many
// rows.
func problems(n node, most float64) (list []string) {
	grows := slices.Contains([]string{"error", "due", "lease", "error_archive", "transition"}, n.Relation)
	switch {
	case grows && n.Type == "Seq Scan":
		list = append(list, "reads all of "+n.Relation)
	case grows && n.Loops*(n.Rows+n.Filtered) > 20*most:
		list = append(list, fmt.Sprintf("reads %.0f rows of %s", n.Loops*(n.Rows+n.Filtered), n.Relation))
	}
	for _, child := range n.Plans {
		if n.Type == "Sort" && child.Rows > most {
			list = append(list, fmt.Sprintf("sorts %.0f rows", child.Rows))
		}
		list = append(list, problems(child, most)...)
	}
	return list
}

func outline(n node, indent string) string {
	s := fmt.Sprintf("%s%s %s %s: %.0f rows, %.0f filtered, %.0f times\n", indent, n.Type, n.Relation, n.Index, n.Rows, n.Filtered, n.Loops)
	for _, child := range n.Plans {
		s += outline(child, indent+"  ")
	}
	return s
}

// The check itself notices what it is there for.
func TestPlanProblems(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		n    node
		want int
	}{
		{node{Type: "Seq Scan", Relation: "error", Rows: 10, Loops: 1}, 1},
		{node{Type: "Seq Scan", Relation: "error_table", Rows: 10, Loops: 1}, 0},
		{node{Type: "Index Scan", Relation: "error", Rows: 10, Filtered: 5000, Loops: 1}, 1},
		{node{Type: "Sort", Plans: []node{{Type: "Index Scan", Relation: "error", Rows: 500, Loops: 1}}}, 1},
		{node{Type: "Limit", Plans: []node{{Type: "Index Scan", Relation: "error", Rows: 50, Loops: 4}}}, 0},
	} {
		if got := problems(row.n, 100); len(got) != row.want {
			t.Errorf("%+v: %v", row.n, got)
		}
	}
}
