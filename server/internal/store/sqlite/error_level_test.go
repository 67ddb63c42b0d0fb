package sqlite_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Levels follow every way in which errors are written, by plain SQL as well.
func TestLevelsFollowErrors(t *testing.T) {
	t.Parallel()
	s := open(t)
	raw := s.raw()
	now := time.Date(2026, 2, 2, 3, 4, 5, 600, time.UTC)
	check := func() {
		t.Helper()
		got, err := s.Levels(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := raw.Query(`select table_name, sum(blocking), sum(state <> 'RESOLVED'), sum(state in ('PARKED', 'ESCALATED')),
				sum(iif(e, cast(? - created_at as real) / (expires_at - created_at), 0)), sum(e)
			from (select *, (state <> 'RESOLVED' and expires_at > created_at) is true as e from error) group by 1 order by 1`, now.UnixMicro())
		if err != nil {
			t.Fatal(err)
		}
		var want []store.Level
		for rows.Next() {
			var l store.Level
			if err := rows.Scan(&l.Table, &l.Blocking, &l.Open, &l.Parked, &l.Used, &l.Expiring); err != nil {
				t.Fatal(err)
			}
			want = append(want, l)
		}
		same := func(a, b store.Level) bool {
			near := math.Abs(a.Used-b.Used) < 1e-5*b.Used // some live for a time that is rounded
			a.Used = b.Used
			return near && a == b
		}
		if rows.Err() != nil || !slices.EqualFunc(got, want, same) {
			t.Fatalf("levels are %+v, want %+v, %v", got, want, rows.Err())
		}
	}
	for _, statement := range []string{
		`insert into error_table (table_name, hub, entity_column, default_disposition, ttl, blocks, policy_version, retention)
			values ('a', 'h', 'e', 'RETRY', 1, 1, '1', 1), ('b', 'h', 'e', 'RETRY', 1, 1, '1', 1)`,
		`insert into error_table_disposition select table_name, column1 from error_table, (values ('RETRY'), ('PARKED'), ('RESOLVED'))`,
		`with recursive n (i) as (select 1 union all select i + 1 from n where i < 500)
			insert into error (table_name, entity_id, code, policy_version, state, disposition, blocking, created_at, expires_at, max_retries)
			select iif(i % 2, 'a', 'b'), 'e' || i, 'C', '1', 'RETRY_PENDING', 'RETRY', 1, 1769904000000000 + i * 7000013,
				iif(i % 10, 1769904000000000 + i * 7000013 + (1 + i % 3) * 86400250000, null), 5 from n`,
		`insert into transition (error_id, at, input, actor, state, policy_version)
			select error_id, 1, 'resolve', 'ada', 'RESOLVED', '1' from error where entity_id like 'e1%'`,
		`update error set state = 'RESOLVED', disposition = 'RESOLVED', blocking = 0, resolved_at = 1 where entity_id like 'e1%'`,
		`update or replace error set expires_at = created_at + 5400000000 where entity_id like 'e2%'`,
		`update error set state = 'PARKED', disposition = 'PARKED', parked_at = 1, park_reason = 'x', escalated_to = 't' where entity_id like 'e3%'`,
		`insert into error (table_name, entity_id, code, disposition, blocking, created_at, expires_at) values ('a', 'x', 'C', 'RETRY', 1, 1769904000000000, 1)`,
		`insert or replace into error (table_name, entity_id, code, disposition, blocking, created_at, expires_at) values ('a', 'x', 'C', 'RETRY', 1, 1769904000000001, 9e15)`,
		`insert or ignore into error (table_name, entity_id, code, disposition, blocking, created_at, expires_at) values ('a', 'y', 'C', 'RETRY', 1, 1769904000000001, 9e15)`,
	} {
		if _, err := raw.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		check()
	}
	if err := s.FoldCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	check()
}
