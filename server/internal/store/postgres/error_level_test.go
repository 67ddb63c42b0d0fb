package postgres_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// Levels follow every way in which errors are written, by plain SQL as well.
func TestLevelsFollowErrors(t *testing.T) {
	t.Parallel()
	address, _ := pgtest.Migrated(t)
	owner := at(t, address)
	owner.run(`insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, ttl, blocks, policy_version, retention)
		select t, 'h', 'e', '{RETRY,PARKED,ARCHIVE,RESOLVED}', 'RETRY', '7 days', true, '1', '1 year' from unnest(array['a.a', 'b.b']) t`)
	owner.run(`insert into recoup.error (error_id, table_name, entity_id, code, policy_version, state, disposition, blocking, created_at, expires_at, max_retries)
		select md5('e' || i)::uuid, (array['a.a', 'b.b'])[1 + i % 2], 'e' || i, 'C', '1', 'RETRY_PENDING', 'RETRY', true, '2026-02-01'::timestamptz + i * interval '7.000013 seconds',
			case when i % 10 > 0 then '2026-02-01'::timestamptz + i * interval '7.000013 seconds' + (1 + i % 3) * interval '1 day 0.25 seconds' end, 5
		from generate_series(1, 500) i`)
	owner.run(`insert into recoup.error (table_name, entity_id, code, disposition, blocking, created_at, expires_at) values
		('a.a', 'x', 'C', 'RETRY', true, '2026-02-01', 'infinity'), ('a.a', 'x', 'C', 'RETRY', true, '2026-02-01', '2026-01-01'),
		('b.b', 'x', 'C', 'RETRY', true, '2026-02-01', '9999-12-31')`)
	s := open(t, address)
	now := time.Date(2026, 2, 2, 3, 4, 5, 600, time.UTC)
	check := func() {
		t.Helper()
		got, err := s.Levels(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := owner.Query(t.Context(), `select table_name, count(*) filter (where blocking), count(*) filter (where state <> 'RESOLVED'),
				count(*) filter (where state in ('PARKED', 'ESCALATED')), count(*) filter (where state = 'ESCALATED'),
				sum(extract(epoch from $1 - created_at) / extract(epoch from expires_at - created_at)) filter (where e)::float8, count(*) filter (where e)
			from (select *, state <> 'RESOLVED' and expires_at > created_at and isfinite(expires_at) as e from recoup.error) x group by 1 order by 1`, now)
		want, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l store.Level, err error) {
			return l, row.Scan(&l.Table, &l.Blocking, &l.Open, &l.Parked, &l.Escalated, &l.Used, &l.Expiring)
		})
		same := func(a, b store.Level) bool {
			near := math.Abs(a.Used-b.Used) < 1e-5*b.Used // some live for a time that is rounded
			a.Used = b.Used
			return near && a == b
		}
		if err != nil || len(want) != 2 || !slices.EqualFunc(got, want, same) {
			t.Fatalf("levels are %+v, want %+v, %v", got, want, err)
		}
	}
	check()
	pgtest.OwnTime(t, address)
	owner.run("select recoup.create_partition('transition', '2026-02-01')")
	owner.run(`begin;
		insert into recoup.transition (error_id, at, input, actor, state, policy_version)
			select error_id, '2026-02-02', 'resolve', 'ada', 'RESOLVED', '1' from recoup.error where code = 'C' and policy_version = '1' and entity_id like 'e1%';
		update recoup.error set state = 'RESOLVED', disposition = 'RESOLVED', blocking = false, resolved_at = '2026-02-02' where code = 'C' and policy_version = '1' and entity_id like 'e1%';
		commit`)
	check()
	owner.run("update recoup.error set expires_at = created_at + interval '90 minutes' where entity_id like 'e2%'")
	check()
	owner.run(`update recoup.error set state = 'PARKED', disposition = 'PARKED', parked_at = '2026-02-02', park_reason = 'x', escalated_to = 't' where entity_id like 'e3%'`)
	check()
	if err := s.FoldCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	check()
}
