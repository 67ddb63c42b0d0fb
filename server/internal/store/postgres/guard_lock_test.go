package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A role that may only connect cannot hold up nodes: every advisory lock that it can name is
// held by it, and nodes report, claim, promote, sync, make keys and partitions, and migrate.
func TestOutsidersCannotHoldLocks(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Start(t, pgtest.Options{}).Migrated(t) // its own: it holds thousands of locks, which other tests would find
	s, err := postgres.Open(t.Context(), appURL, postgres.Options{MaxConns: 4, LockTimeout: 200 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	owner, d, b := at(t, ownerURL), conformance.NewDriver(t, s), conformance.NewBookkeeper(t, s)
	first := d.Report(dol, "CO-1", "NETWORK_TIMEOUT", recoup.Medium)
	name := "holder_" + owner.Config().Database
	owner.run("create role " + name + " login")
	outsider := role(t, owner, name)
	for _, number := range []string{"20260202", "20260203", "20260204", "20260205", "20260208"} {
		outsider.run("select pg_advisory_lock(" + number + ")")
		outsider.run("select pg_advisory_lock(" + number + ", n) from generate_series(0, 1023) n")
		for _, names := range []string{
			"select family || ' ' || entity_id from recoup.entity_streak",
			"select table_name || ' ' || entity_id || ' ' || code from recoup.error",
		} {
			for _, hash := range column[int32](owner, "select hashtext(n) from ("+names+") x (n)") {
				_, err := outsider.Exec(t.Context(), "select pg_advisory_lock("+number+", $1)", hash)
				must(t, err)
			}
		}
	}
	d.Report(dol, "CO-1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(people, "CO-2", "NETWORK_TIMEOUT", recoup.Medium)
	d.Claim([]string{dol}, 10)
	if _, blockers, err := d.Promote("CO-1"); len(blockers) != 1 {
		t.Errorf("promoting an entity that %s blocks: %v, %v", first.ID, blockers, err)
	}
	if done, _, err := d.Promote("CO-3"); err != nil || done.Seq == 0 {
		t.Errorf("promoting an entity that nothing blocks: %v, %v", done, err)
	}
	b.Add(b.Event("mail", "NETWORK_TIMEOUT", conformance.Epoch().AddDate(0, 1, 0)))
	must(t, s.SyncTables(t.Context(), policy.Default()))
	_, err = s.CreateFirstKey(t.Context(), wire.Key{ID: recoup.ID{1}, Name: "a", Role: "admin"}, store.Act{By: "ada", At: conformance.Epoch()})
	must(t, err)
	must(t, postgres.Migrate(t.Context(), ownerURL))
}

// No role but the owner may touch the tables that are locks, so none can lock them.
func TestLocksAreTheOwners(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	locks := column[string](owner, `select oid::regclass::text from pg_class where relnamespace = 'recoup'::regnamespace and relkind = 'r'
		and (relname ~ '^gate_stripe_' or relname in ('turn_lock', 'lock_secret', 'schema_lock')) order by 1`)
	if len(locks) != 259 {
		t.Errorf("found %d locks", len(locks))
	}
	for _, name := range []string{"recoup_app", "recoup_writer", "recoup_reader"} {
		held := role(t, owner, name)
		for _, lock := range locks {
			for _, mode := range []string{"access share", "row share"} {
				held.run("begin")
				if got := held.sqlState("lock table " + lock + " in " + mode + " mode"); got != privilege {
					t.Errorf("%s locks %s: %s", name, lock, got)
				}
				held.run("rollback")
			}
		}
	}
}

// PostgreSQL lets a role with USAGE on a schema lock a table there that it has no privilege on: CREATE
// RULE takes the lock before it checks who owns the table. The session is named, by the doctor and to
// a node whose statement has timed out.
func TestLockHoldersAreNamed(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	s, err := postgres.Open(t.Context(), appURL, postgres.Options{MaxConns: 4, LockTimeout: 200 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	must(t, s.SyncTables(t.Context(), policy.Default()))
	owner := at(t, ownerURL)
	name := "locker_" + owner.Config().Database
	owner.run("create role " + name + " login; grant usage on schema recoup to " + name)
	first, second := role(t, owner, name), role(t, owner, name)
	first.run("begin; lock table pg_catalog.pg_settings in access exclusive mode")
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = second.Exec(t.Context(), "create rule planted as on insert to recoup.error do also select count(*) from pg_catalog.pg_settings")
	})
	pid := int(second.PgConn().PID())
	for !ask[bool](owner, "select exists (select from pg_locks where pid = $1 and relation = 'recoup.error'::regclass and granted) from pg_sleep(0.01)", pid) {
	}
	if list, ok, err := s.LockHolders(t.Context()); ok || err != nil || list != nil {
		t.Errorf("before a timeout: %v, %v", list, err)
	}
	if _, err := s.Counts(t.Context()); err != nil {
		t.Errorf("counts: %v", err)
	}
	_, _, err = s.Errors(t.Context(), store.Filter{}, sqldb.Page{})
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("a list of errors: %v", err)
	}
	is := func(h store.LockHolder) bool {
		return h.PID == pid && h.Role == name && h.Mode == "AccessExclusiveLock" && h.On == "recoup.error" && !h.Waits
	}
	list, ok, err := s.LockHolders(t.Context())
	if must(t, err); !ok || len(list) != 1 || !is(list[0]) {
		t.Errorf("after a timeout: %+v", list)
	}
	facts, err := s.Inspect(t.Context(), store.Inspection{})
	if must(t, err); len(facts.Server.Locks) != 1 || !is(facts.Server.Locks[0]) {
		t.Errorf("the doctor finds %+v", facts.Server.Locks)
	}
	first.run("rollback")
	wg.Wait()
}

// A role that may only connect can hold ACCESS SHARE locks: functions that show definitions take them
// and ask for no privilege. Months are made all the same. While one waits to be dropped, a report waits
// for a moment only. The doctor names the session.
func TestOutsidersDoNotStopMonths(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	pgtest.HoldToClock(t, owner.Config().ConnString())
	now := databaseTime(t, owner.Conn)
	for _, parent := range []string{"error_event", "transition"} {
		owner.run(fmt.Sprintf("create table recoup.%[1]s_y2001m01 partition of recoup.%[1]s for values from ('2001-01-01 00:00+00') to ('2001-02-01 00:00+00')", parent))
	}
	name := "watcher_" + owner.Config().Database
	owner.run("create role " + name + " login")
	outsider := role(t, owner, name)
	views := column[uint32](owner, "select oid from pg_class where relnamespace = 'recoup'::regnamespace and relkind = 'v'")
	outsider.run("begin")
	for _, oid := range views {
		if text := ask[string](outsider, "select pg_get_viewdef($1::oid)", oid); text == "" {
			t.Fatal("no definition")
		}
	}
	for _, oid := range column[uint32](owner, "select oid from pg_class where oid in ('recoup.error_event'::regclass, 'recoup.transition'::regclass)") {
		if n := ask[int](outsider, "select count(*) from pg_partition_tree($1::oid)", oid); n == 0 {
			t.Fatal("no partitions")
		}
	}
	if held := column[string](owner, "select mode from pg_locks where relation = 'recoup.transition'::regclass"); !slices.Equal(held, []string{"AccessShareLock"}) {
		t.Fatalf("held on the history: %v", held)
	}
	months := "select count(*) from pg_inherits where inhparent in ('recoup.error_event'::regclass, 'recoup.transition'::regclass)"
	before := ask[int](owner, months)
	later := now.AddDate(0, 4, 0)
	if err := s.EnsurePartitions(t.Context(), later); !errors.Is(err, store.ErrNotDropped) || !errors.Is(err, store.ErrBusy) {
		t.Errorf("months of history: %v", err)
	}
	must(t, s.EnsureEventPartitions(t.Context(), later, 0))
	if n := ask[int](owner, months) - before; n != 8 {
		t.Errorf("%d months were made", n)
	}
	if got := ask[string](owner, "select string_agg(distinct c, ' ') from pg_proc p, unnest(p.proconfig) c where p.oid = 'recoup.drop_partition(text,date)'::regprocedure and c ~ '^lock_timeout'"); got != "lock_timeout=100ms" {
		t.Errorf("reports wait for %s", got)
	}
	facts, err := s.Inspect(t.Context(), store.Inspection{})
	must(t, err)
	if list := facts.Server.Locks; len(list) != 1 || list[0].Role != name || list[0].Mode != "AccessShareLock" || list[0].PID != int(outsider.PgConn().PID()) || !strings.HasPrefix(list[0].On, "recoup.") {
		t.Errorf("the doctor names %+v, %v", list, facts.Unseen)
	}
	outsider.run("rollback")
	must(t, s.EnsurePartitions(t.Context(), now))
}

// A month that is attached is as one that PostgreSQL makes as a partition, besides its guards.
func TestMonthsAreAsPartitionsAreMade(t *testing.T) {
	t.Parallel()
	_, owner, app := governed(t)
	for _, parent := range []string{"error_event", "transition"} {
		app.run("select recoup.create_partition($1, '2031-01-01')", parent)
		owner.run(fmt.Sprintf("create table recoup.%[1]s_y2031m02 partition of recoup.%[1]s for values from ('2031-02-01 00:00+00') to ('2031-03-01 00:00+00')", parent))
		describe := func(month string) string {
			part := parent + "_y2031m" + month
			return strings.ReplaceAll(strings.Join(column[string](owner, strings.ReplaceAll(`
				select concat_ws(' ', a.attnum, a.attname, a.atttypid::regtype, a.attnotnull, a.attidentity, a.attgenerated, a.attstorage, a.attislocal, a.attinhcount, a.attcollation, pg_get_expr(d.adbin, d.adrelid))
				  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where a.attrelid = 'recoup.PART'::regclass and a.attnum > 0
				union all select concat_ws(' ', c.conname, c.contype, c.convalidated, c.conislocal, c.coninhcount, c.connoinherit, c.conparentid <> 0, pg_get_constraintdef(c.oid)) from pg_constraint c where c.conrelid = 'recoup.PART'::regclass
				union all select concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisprimary, (select inhparent::regclass from pg_inherits where inhrelid = i.indexrelid)) from pg_index i where i.indrelid = 'recoup.PART'::regclass
				union all select concat_ws(' ', r.relkind, r.relpersistence, r.relreplident, r.relispartition, r.relacl, r.reloptions, r.reltablespace, r.relowner) from pg_class r where r.oid = 'recoup.PART'::regclass
				union all select concat_ws(' ', n.inhparent::regclass, n.inhseqno) from pg_inherits n where n.inhrelid = 'recoup.PART'::regclass
				order by 1`, "PART", part)), "\n"), part, "PART")
		}
		if attached, made := describe("01"), describe("02"); attached != made {
			t.Errorf("attached:\n%s\n\nmade:\n%s", attached, made)
		}
	}
}

// A session of a pipeline, or a prepared transaction, that holds gates is named, once for all of them. Short
// transactions are not, nor are nodes.
func TestGateHoldersAreNamed(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"max_prepared_transactions=2"}})
	ownerURL, appURL := server.Migrated(t)
	s, err := postgres.Open(t.Context(), appURL, postgres.Options{MaxConns: 4, LockTimeout: 200 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	must(t, s.SyncTables(t.Context(), policy.Default()))
	owner := at(t, ownerURL)
	first, second, node := role(t, owner, "recoup_writer"), role(t, owner, "recoup_writer"), at(t, appURL)
	entities := column[string](owner, "select min('e' || g) from generate_series(1, 3000) g group by recoup.stripe('e' || g) limit 31") // a gate each
	hold := func(entities []string) string {
		return "begin; insert into outreach.dol_errors (outreach_id, code) select e, 'X' from unnest('{" + strings.Join(entities, ",") + "}'::text[]) e"
	}
	first.run(hold(entities[:10]))
	node.run(hold(entities[10:20]))
	second.run("begin; select recoup.promote(e, 'x') from unnest('{" + strings.Join(entities[20:30], ",") + "}'::text[]) e; prepare transaction 'it''s'")
	second.run("set lock_timeout = '100ms'")
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // short transactions
		for {
			select {
			case <-done:
				return
			default:
				_, _ = second.Exec(t.Context(), "select recoup.promote('"+entities[30]+"', 'x')")
			}
		}
	})
	_, _, err = s.Promote(t.Context(), store.Promotion{ID: recoup.ID{1}, Entity: entities[0], Phase: "next", By: "ada", At: conformance.Epoch()})
	if !errors.Is(err, store.ErrBusy) {
		t.Errorf("a promotion of an entity whose gate is held: %v", err)
	}
	facts, err := s.Inspect(t.Context(), store.Inspection{})
	must(t, err)
	close(done)
	wg.Wait()
	var got []string
	for _, h := range facts.Server.Locks {
		got = append(got, h.Role+" "+h.Mode+" "+h.On+" "+h.End())
	}
	want := []string{
		"recoup_writer ExclusiveLock " + store.GateLocks + " rollback prepared 'it''s'",
		fmt.Sprintf("recoup_writer RowShareLock %s select pg_terminate_backend(%d)", store.GateLocks, first.PgConn().PID()),
	}
	if !slices.Equal(got, want) {
		t.Errorf("the doctor finds %q, want %q", got, want)
	}
	first.run("rollback")
	second.run("rollback prepared 'it''s'")
}
