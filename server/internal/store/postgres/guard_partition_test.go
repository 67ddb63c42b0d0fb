package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// The name of a partition has no era: a month before Christ, or one without an end, must not
// select a partition of our time.
func TestPartitionMonthsAreBounded(t *testing.T) {
	t.Parallel()
	_, app, _ := timely(t)
	const parts = "select count(*) from pg_inherits where inhparent in ('recoup.transition'::regclass, 'recoup.error_event'::regclass)"
	app.run("select recoup.create_partition('error_event', current_date), recoup.create_partition('transition', current_date)")
	before := ask[int](app, parts)
	months := []string{"(to_char(now(), 'YYYY-MM') || '-01 BC')::date", "'infinity'::date", "'-infinity'::date", "null::date", "'5874897-12-31'::date"}
	for _, month := range months {
		for _, sql := range []string{
			"select recoup.drop_partition('transition', " + month + ")", "select recoup.drop_partition('error_event', " + month + ")",
			"select recoup.create_partition('transition', " + month + ")", "select recoup.ensure_event_partitions(array[" + month + "])",
			"select recoup.settle_events(array[" + month + "])",
		} {
			if got := app.refusal(sql); !strings.Contains(got, "the month of a partition must be between") {
				t.Errorf("%s: %s", sql, got)
			}
		}
	}
	if after := ask[int](app, parts); after != before {
		t.Errorf("%d partitions of %d are left", after, before)
	}
}

// Nodes that make the partitions of the same months at once do not fail: one of them makes
// each partition.
func TestPartitionsMadeAtOnce(t *testing.T) {
	t.Parallel()
	const nodes, months = 8, 40
	_, appURL := pgtest.Migrated(t)
	app := at(t, appURL)
	made, failed := make(chan int, nodes), make(chan error, nodes)
	for range nodes {
		node := at(t, appURL)
		go func() {
			n := 0
			for month := range months { // a transaction each
				var first bool
				if err := node.QueryRow(node.Context(), "select recoup.create_partition('transition', (date '2000-01-01' + $1 * interval '1 month')::date)", month).Scan(&first); err != nil {
					failed <- err
					return
				}
				if first {
					n++
				}
			}
			made <- n
		}()
	}
	total := 0
	for range nodes {
		select {
		case n := <-made:
			total += n
		case err := <-failed:
			t.Error(err)
		}
	}
	const parts = "select count(*) from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'recoup.transition'::regclass and relname between 'transition_y2000m01' and 'transition_y2003m12'"
	if got := ask[int](app, parts); got != months || total != months {
		t.Errorf("%d partitions are there and %d were made, not %d", got, total, months)
	}
}

// A partition whose name says less than its bounds stays until its bounds are old enough,
// whatever the time zone and the date style of the session.
func TestPartitionsAreDroppedByTheirBounds(t *testing.T) {
	t.Parallel()
	ownerURL, app, _ := timely(t)
	at(t, ownerURL).run(`create table recoup.error_event_y2001m01 partition of recoup.error_event for values from ('2001-01-01 00:00+00') to ('2003-01-01 00:00+00');
		create table recoup.error_event_y1999m01 partition of recoup.error_event for values from (minvalue) to ('1999-02-01 00:00+00')`)
	app.run("set timezone = 'Pacific/Auckland'; set datestyle = 'SQL, DMY'")
	drop := func(month string) bool {
		return ask[bool](app, "select recoup.drop_partition('error_event', '"+month+"'::text::date)")
	}
	pgtest.StopClock(t, ownerURL, time.Date(2002, 6, 1, 0, 0, 0, 0, time.UTC))
	if drop("2001-01-01") {
		t.Error("a partition that has this month was dropped")
	}
	if drop("2001-02-01") || !drop("1999-01-01") {
		t.Error("a partition with an old end stays, or one that does not exist was dropped")
	}
	pgtest.StopClock(t, ownerURL, time.Date(2003, 6, 1, 0, 0, 0, 0, time.UTC))
	if !drop("2001-01-01") {
		t.Error("a partition whose end is old enough stays")
	}
}

// A replay that has not ended by the database's clock stays, whatever time the caller gives.
func TestReplaysArePurgedByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	ownerURL, app, _ := timely(t)
	app.run(`insert into recoup.replay (replay_id, state, created_at, created_by, reason, state_at, state_by)
		values ('00000000-0000-0000-0000-000000000001', 'COLLECTING', now(), 'ada', 'x', now(), 'ada')`)
	app.run("update recoup.replay set state = 'DONE', ended_at = now() + interval '1 day'")
	app.run("select recoup.purge_replays('2999-01-01', 10), recoup.purge_replays('infinity', 10)")
	if n := ask[int](app, "select count(*) from recoup.replay"); n != 1 {
		t.Errorf("%d replays are left", n)
	}
	pgtest.ShiftClock(t, ownerURL, 48*time.Hour)
	app.run("select recoup.purge_replays('infinity', 10)")
	if n := ask[int](app, "select count(*) from recoup.replay"); n != 0 {
		t.Errorf("two days later %d replays are left", n)
	}
}

// A retention that no date can be moved by would stop housekeeping.
func TestRetentionsAreBounded(t *testing.T) {
	t.Parallel()
	_, _, app := governed(t)
	for _, sql := range []string{
		"select recoup.sync_ledger('1.0.0', '170000000 years', '1 year')", "select recoup.sync_ledger('1.0.0', '1 year', null)",
		"select recoup.sync_table(jsonb_populate_record(t, '{\"retention\": \"170000000 years\"}')) from recoup.error_table t where table_name = '" + dol + "'",
		"select recoup.sync_table(jsonb_populate_record(t, '{\"ttl\": \"170000000 years\"}')) from recoup.error_table t where table_name = '" + dol + "'",
		"select cl.sync_gate('1.0.0', '{170000000 years}', '{TIMEOUT}', '1 year')",
	} {
		if got := app.refusal(sql); !strings.Contains(got, "at most 1000 years") {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// Views, functions, types, operators, aggregates and casts that other roles make over a month keep it from being dropped no longer
// than it is kept, and go with it. What has data of others, or belongs to the schema's owner, keeps
// its month, and no other. The doctor lists all of them.
func TestObjectsOfOthersOnPartitions(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	pgtest.HoldToClock(t, owner.Config().ConnString())
	name := "keeper_" + owner.Config().Database
	owner.run("create role " + name + " login; grant usage on schema recoup to " + name + "; create schema shop; grant all on schema shop to " + name)
	for _, parent := range []string{"error_event", "transition"} {
		for month := 1; month <= 5; month++ {
			owner.run(fmt.Sprintf("create table recoup.%[1]s_y2001m0%[2]d partition of recoup.%[1]s for values from ('2001-0%[2]d-01 00:00+00') to ('2001-0%[3]d-01 00:00+00')", parent, month, month+1))
		}
		keeper := role(t, owner, name)
		keeper.run(strings.ReplaceAll(`create view shop.P_1 as select from recoup.P_y2001m01; create view shop.P_2 as select from shop.P_1;
			create materialized view shop.P_3 as select from recoup.P_y2001m01 with no data; create index on shop.P_3 ((1));
			create function shop.P_4(recoup.P_y2001m01) returns int language sql as 'select 1';
			create function shop.P_op(recoup.P_y2001m04, int) returns boolean language sql immutable as 'select true';
			create operator shop.@@@ (leftarg = recoup.P_y2001m04, rightarg = int, function = shop.P_op);
			create function shop.P_more(int, recoup.P_y2001m04) returns int language sql immutable as 'select 1'; create aggregate shop.P_all(recoup.P_y2001m04) (sfunc = shop.P_more, stype = int, initcond = '0');
			create type shop.P_pair as (a int); create function shop.P_cast(recoup.P_y2001m04) returns shop.P_pair language sql immutable as 'select row(1)::shop.P_pair';
			create cast (recoup.P_y2001m04 as shop.P_pair) with function shop.P_cast(recoup.P_y2001m04);
			create cast (shop.P_pair as recoup.P_y2001m04) with inout;
			create operator shop.### (rightarg = recoup.P_y2001m01, function = shop.P_4); create cast (shop.P_pair as recoup.P_y2001m01) with inout;
			create table shop.P_5 (kept recoup.P_y2001m02); create view shop.P_6 as select * from shop.P_5;
			create table shop.P_7 (kept shop.P_1);
			create view shop.P_8 as select from recoup.P_y2001m05; create rule P_9 as on insert to shop.P_5 do also select from recoup.P_y2001m05`, "P", parent))
		owner.run(strings.ReplaceAll("create view recoup.P_mine as select from recoup.P_y2001m03", "P", parent))
		want := "P_y2001m01 P_y2001m02 P_y2001m03"
		drop := func() error { return s.DropEvents(t.Context(), time.Date(2001, 12, 1, 0, 0, 0, 0, time.UTC)) }
		if parent == "transition" {
			drop = func() error { return s.EnsurePartitions(t.Context(), databaseTime(t, owner.Conn)) }
		}
		left := func() string {
			return ask[string](owner, "select coalesce(string_agg(relname, ' ' order by relname), '') from pg_class where relname ~ $1", "^"+parent+"_y2001m[0-9]+$")
		}
		if err := drop(); !errors.Is(err, store.ErrNotDropped) || !strings.Contains(err.Error(), "recoup."+parent+"_y2001m02: ") {
			t.Errorf("%s: %v", parent, err)
		}
		if got := left(); got != strings.ReplaceAll(want, "P", parent) {
			t.Errorf("left of %s: %s", parent, got)
		}
		facts, err := s.Inspect(t.Context(), store.Inspection{})
		must(t, err)
		var drops []string
		for _, d := range facts.Server.Dependents {
			if d.Owner == name && strings.HasPrefix(d.On, "recoup."+parent) {
				drops = append(drops, fmt.Sprintf("%s %v", d.Drop, d.Keeps))
			}
		}
		slices.Sort(drops)
		listed := "alter table shop.P_5 drop column kept true, drop cast (shop.P_pair as recoup.P_y2001m01) false, drop materialized view shop.P_3 false, drop operator shop.###(NONE,recoup.P_y2001m01) false, drop routine shop.P_4(recoup.P_y2001m01) false, drop view shop.P_1 false, drop view shop.P_6 false"
		if got := strings.Join(drops, ", "); got != strings.ReplaceAll(listed, "P", parent) {
			t.Errorf("the doctor lists %s, of %+v, %+v", got, facts.Server.Dependents, facts.Unseen)
		}
		keeper.run(strings.ReplaceAll("drop view shop.P_6; alter table shop.P_5 drop column kept; alter table shop.P_7 drop column kept", "P", parent))
		owner.run("drop view recoup." + parent + "_mine")
		must(t, drop())
		if got := left() + ask[string](owner, "select coalesce(string_agg(relname, ' ' order by relname), '') from pg_class where relname ~ $1", "^"+parent+"_[0-9]$"); got != strings.ReplaceAll("P_5 P_7", "P", parent) {
			t.Errorf("left in the end: %s", got)
		}
	}
}
