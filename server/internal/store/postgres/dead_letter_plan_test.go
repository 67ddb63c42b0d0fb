package postgres_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// fillLetters makes 16,000 dead letters of two months, a fifth of them closed,
// half of which are members of a replay that is under way, and a queue.
const fillLetters = `
alter table recoup.error disable trigger user;
alter table recoup.dead_letter disable trigger user;
alter table recoup.replay disable trigger user;
alter table recoup.dead_letter_note disable trigger user;
alter table recoup.replay_item disable trigger user;
alter table recoup.work disable trigger user;
insert into recoup.dead_letter_group (group_id, pipeline, stage, error_class, first_seen_at, last_seen_at)
select md5('g' || i)::uuid, 'p' || i % 5, 'fetch', 'C' || i, $1, $1::timestamptz + i * interval '1 second' from generate_series(0, 999) i;
insert into recoup.dead_letter_count select md5('g' || i % 1000)::uuid, $1::date - i / 1000, 1, 1 from generate_series(0, 9999) i;
insert into recoup.error (error_id, table_name, code, policy_version, state, disposition, created_at, parked_at, park_reason, escalated_to)
select md5('e' || i)::uuid, 'pipeline.dead_letters', 'C', '1', 'PARKED', 'PARKED', $1::timestamptz - i * interval '5 minutes', $1, 'DATA_QUALITY', 'team'
from generate_series(1, 16000) i where i % 5 > 0;
insert into recoup.dead_letter (error_id, work_id, pipeline, stage, error_class, group_id, step, cause, round, first_failure_at, last_failure_at,
	created_at, updated_at, closed_at)
select md5('e' || i)::uuid, md5('w' || i)::uuid, 'p' || i % 7, (array['fetch', 'llm', 'notify'])[i % 3 + 1], 'C' || i % 11, md5('g' || i % 1000)::uuid,
	case when i % 5 = 0 then 'VERIFIED' when i % 2 = 0 then 'REPLAYING' when i % 3 = 0 then 'TRIAGED' else 'NEW' end, 'DATA', 1, $1, $1,
	$1::timestamptz - i * interval '5 minutes', $1, case when i % 5 = 0 then $1::timestamptz end
from generate_series(1, 16000) i;
insert into recoup.dead_letter_note (error_id, step, actor, at) select md5('e' || i)::uuid, 'TRIAGED', 'ada', $1 from generate_series(1, 16000) i;
insert into recoup.adopted_row (adoption_id, key, error_id, digest) select 1, i::text, md5('e' || i)::uuid, '' from generate_series(1, 16000) i;
insert into recoup.due (error_id, table_name, policy_version, due_at) select md5('d' || i)::uuid, 'outreach.dol_errors', '1', $1 from generate_series(1, 16000) i;
insert into recoup.replay (replay_id, state, created_at, created_by, reason, state_at, state_by, ended_at, next_at)
select md5('r' || i)::uuid, case when i < 5 then 'RUNNING' when i < 10 then 'PAUSED' else 'DONE' end, $1::timestamptz - i * interval '1 hour',
	'ada', 'r', $1, 'ada', case when i >= 10 then $1::timestamptz end, case when i < 5 then $1::timestamptz end from generate_series(1, 2000) i;
insert into recoup.replay_count select md5('r' || i % 2000)::uuid, 1, 'SUCCEEDED', 1 from generate_series(1, 6000) i;
insert into recoup.replay_item (replay_id, position, error_id, work_id, round, stage, state, phase, released_at, ended_at)
select md5('r' || case when i % 2 = 0 then 1 else 10 + i % 1990 end)::uuid, i, md5('e' || i)::uuid, md5('w' || i)::uuid, 1, 'fetch',
	case when i % 2 = 1 or i % 5 = 0 then 'SUCCEEDED' when i < 200 then 'RELEASED' else 'PENDING' end, 1,
	case when i % 2 = 1 or i % 5 = 0 or i < 200 then $1::timestamptz end, case when i % 2 = 1 or i % 5 = 0 then $1::timestamptz end
from generate_series(1, 16000) i;
insert into recoup.work (work_id, pipeline, stage, replay_id, error_id, created_at, due_at)
select md5('w' || i)::uuid, 'p' || i % 7, 'fetch', md5('r1')::uuid, md5('e' || i)::uuid, $1, $1::timestamptz - i * interval '1 second'
from generate_series(2, 198, 2) i where i % 5 > 0;
insert into recoup.work (work_id, pipeline, stage, created_at, due_at)
select md5('n' || i)::uuid, 'p' || i % 7, 'fetch', $1, $1::timestamptz + (i % 200 - 100) * interval '1 second' from generate_series(1, 20000) i;
insert into recoup.work_due (turn, pipeline, stage, replay_id, due_at, work_id)
select 0, pipeline, stage, coalesce(replay_id, '00000000-0000-0000-0000-000000000000'), due_at, work_id from recoup.work;
insert into recoup.work_lease (token, pipeline, stage, leased_at, ends_at, work_ids)
select md5('l' || i)::uuid, 'p' || i % 7, 'fetch', $1, $1::timestamptz + i * interval '1 second', array[md5('x' || i)::uuid] from generate_series(1, 5000) i;
insert into recoup.work (work_id, pipeline, stage, created_at, due_at, lease_token, leased_at, lease_ends_at)
select md5('h' || i)::uuid, 'p' || i % 7, 'fetch', $1, e, md5('h' || i)::uuid, $1, e
from generate_series(1, 5000) i cross join lateral (select $1::timestamptz + i * interval '1 second' as e) x`

// Every statement about staged work finds its rows by an index, as others do.
func TestLetterPlans(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	now, size := conformance.Epoch(), 50
	for _, sql := range strings.Split(fillLetters, ";\n") {
		owner.run(strings.ReplaceAll(sql, "$1", "'"+now.Format(time.RFC3339)+"'"))
	}
	owner.run("analyze")
	ids := ask[[]recoup.ID](owner, "select array[md5('r1')::uuid, md5('e777')::uuid, md5('g777')::uuid]")
	list := postgres.PlannedLetters(now, size, ids[0], ids[1], ids[2])
	for name, args := range map[string][]any{
		"lanes of a source":     {"p1", "", "", 20},
		"parked rows":           {1, "pipeline.dead_letters", now.Add(-time.Hour), recoup.ID{}, size},
		"pairs of dead letters": {1, "5", size},
	} {
		list = append(list, postgres.Planned{Name: name, SQL: adoption.Statements()[name], Args: args})
	}
	for _, p := range list {
		t.Run(p.Name, func(t *testing.T) {
			var before []string
			if p.Name == "claim" {
				before = append(before, postgres.Steadily)
			}
			plan := explain(prompt{t, owner.Conn}, p, before...)
			for _, problem := range problems(growing(plan), float64(6*size)) {
				t.Errorf("%s\n%s", problem, outline(plan, ""))
			}
		})
	}
}

// growing gives the tables of staged work that grow a name that the check knows.
func growing(n node) node {
	if slices.Contains([]string{"dead_letter", "dead_letter_group", "dead_letter_count", "replay_item", "replay_count", "work", "adopted_row", "dead_letter_note",
		"work_due_0", "work_lease"}, n.Relation) {
		n.Relation = "error"
	}
	n.Plans = slices.Clone(n.Plans)
	for i := range n.Plans {
		n.Plans[i] = growing(n.Plans[i])
	}
	return n
}
