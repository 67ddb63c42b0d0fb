package postgres_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// fillGroups makes groups of errors of four tables, seen over two months, one in ten of
// which is over, with hours, and what is not folded yet.
const fillGroups = `
insert into recoup.error_group (group_id, table_name, code, example, first_seen_at, last_seen_at, total, active, retry_pending, parked, escalated, resolved)
select md5('g' || i)::uuid, (array['outreach.dol_errors', 'outreach.company_target_errors', 'people.people_errors', 'company.url_discovery_failures'])[i % 4 + 1], 'CODE_' || i % 50, 'it took too long',
	$1::timestamptz - interval '60 days', $1::timestamptz - i % 100000 * interval '50 seconds', i, case when i % 10 = 0 then 0 else i % 7 end, case when i % 10 = 0 then 0 else 1 + i % 1000 end,
	case when i % 10 = 0 then 0 else i % 3 end, 0, 0
from generate_series(1, $2) i;
insert into recoup.error_group_hour select md5('g' || i % $2)::uuid, date_trunc('hour', $1::timestamptz) - i / $2 * interval '1 hour', 3 from generate_series(0, 3 * $2 - 1) i;
alter table recoup.error disable trigger user;
alter table recoup.error_archive disable trigger user;
insert into recoup.error (error_id, table_name, code, policy_version, disposition) select md5('e' || i)::uuid, 'outreach.dol_errors', 'CODE_7', '1.0.0', 'RETRY' from generate_series(1, 30000) i;
insert into recoup.error_archive (error_id, table_name, code, state, disposition, archived_at, archived_by, archive_reason, final_disposition, purge_at, was_state, was_blocking, end_seq, end_input, end_policy)
select md5('a' || i)::uuid, 'outreach.dol_errors', 'X', 'ARCHIVED', 'RETRY', $1, 'system', 'TTL_EXPIRED', 'RETRY', $1, 'RETRY_PENDING', false, i, 'expire', '1.0.0' from generate_series(1, 30000) i;
insert into recoup.error_group_delta (group_id, active, arrived, first_at, last_at, example)
select md5(case when i % 2 = 0 then 'g' else 'new' end || i)::uuid, 1, 1, $1, $1, md5(case when i % 3 = 0 then 'a' else 'e' end || i)::uuid from generate_series(1, 30000) i;
analyze`

// Every question about groups of errors finds them by an index: 50,000 of them, or a million
// with RECOUP_SOAK=1.
func TestErrorGroupPlans(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	now, size, groups := conformance.Epoch(), 50, 50_000
	if os.Getenv("RECOUP_SOAK") != "" {
		groups = 1_000_000
	}
	for _, sql := range strings.Split(fillGroups, ";\n") {
		owner.run(strings.NewReplacer("$1", "'"+now.Format(time.RFC3339)+"'", "$2", fmt.Sprint(groups)).Replace(sql))
	}
	id := ask[recoup.ID](owner, "select md5('g777')::uuid")
	for _, p := range postgres.PlannedErrorGroups(now, size, id) {
		t.Run(p.Name, func(t *testing.T) {
			plan := explain(prompt{t, owner.Conn}, p)
			for _, problem := range problems(ofGroups(plan, p.Name == "fold"), float64(8*size)) {
				t.Errorf("%s\n%s", problem, outline(plan, ""))
			}
		})
	}
}

// ofGroups gives the tables of groups that grow a name that the check knows. A fold reads
// as many rows as it folds.
func ofGroups(n node, folds bool) node {
	if slices.Contains([]string{"error_group", "error_group_hour"}, n.Relation) && (!folds || n.Type == "Seq Scan") {
		n.Relation = "error"
	}
	n.Plans = slices.Clone(n.Plans)
	for i := range n.Plans {
		n.Plans[i] = ofGroups(n.Plans[i], folds)
	}
	return n
}
