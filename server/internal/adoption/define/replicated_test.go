package define_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// replication is a database whose tables are subscribed to by another one.
type replication struct {
	*world
	publisher, super *pgx.Conn // super is connected to the subscriber
	source           string    // address of the publisher, for subscriptions
}

// newReplication starts a server with two databases in which the same tables exist. The second one is
// the world of an adoption.
func newReplication(t *testing.T, ddl string) *replication {
	t.Helper()
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"wal_level=logical", "wal_receiver_status_interval=1s", "wal_retrieve_retry_interval=100ms"}})
	ownerURL, appURL := server.Migrated(t)
	publisher := asSuper(server.New(t))
	r := &replication{world: newWorldAt(t, ownerURL, appURL, ddl), publisher: connect(t, publisher), super: connect(t, asSuper(ownerURL))}
	config := r.publisher.Config()
	r.source = "host=" + config.Host + " user=postgres dbname=" + config.Database
	r.publish("create schema shop; " + ddl)
	return r
}

// asSuper is the address of a database for the superuser of its server.
func asSuper(url string) string { return strings.Replace(url, "recoup_owner@", "postgres@", 1) }

// publish runs statements in the published database.
func (r *replication) publish(sql string) {
	r.t.Helper()
	if _, err := r.publisher.Exec(r.t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

// subscribe has the world subscribe to tables. A subscription in the same server cannot create its
// slot itself.
func (r *replication) subscribe(tables, options string) {
	r.t.Helper()
	r.publish("create publication p for table " + tables + options)
	r.publish("select pg_create_logical_replication_slot('s', 'pgoutput')")
	if _, err := r.super.Exec(r.t.Context(), "create subscription s connection '"+r.source+"' publication p with (create_slot = false, slot_name = 's')", pgx.QueryExecModeSimpleProtocol); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { // or neither database can be dropped
		_, err := r.super.Exec(context.Background(), "alter subscription s disable; alter subscription s set (slot_name = none); drop subscription s", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			r.t.Error(err)
		}
		await(r.t, r.publisher, "select pg_drop_replication_slot(slot_name) from pg_replication_slots where not active", "", "select count(*) = 0 from pg_replication_slots")
	})
}

// await asks again until the answer is true. Between questions something can be done.
func await(t testing.TB, conn *pgx.Conn, do, what, question string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for done := false; !done; {
		if do != "" {
			_, _ = conn.Exec(ctx, do, pgx.QueryExecModeSimpleProtocol)
		}
		if err := conn.QueryRow(ctx, question, pgx.QueryExecModeExec).Scan(&done); err != nil {
			t.Fatalf("%s: %s: %v", what, question, err)
		}
	}
}

// arrives waits until the world's table has rows that a condition describes.
func (r *replication) arrives(condition string) {
	r.t.Helper()
	await(r.t, r.super, "", "replication", "select exists (select from shop.failures where "+condition+")")
}

// noted returns the keys and entities that were noted, and forgets them.
func (r *replication) noted() string {
	r.t.Helper()
	list := one(r.t, r.world, "select string_agg(coalesce("+notedKeys+"::text, '-') || ' ' || coalesce("+notedEntities+"::text, '-'), '; ' order by change_id) from recoup.adopted_change")
	r.exec("delete from recoup.adopted_change")
	return list
}

func (r *replication) want(noted string) {
	r.t.Helper()
	if got := r.noted(); got != noted {
		r.t.Errorf("noted %q, want %q", got, noted)
	}
}

const replicatedTable = `create table shop.failures (id int primary key, order_id text, code text, other int, spare int)`

// TestReplicatedRowsAreNoted adopts a table and subscribes it afterwards. Rows that arrive, change and
// go are noted as those of other writers, also after columns were renamed. An update that changes
// nothing of the mapping is not.
func TestReplicatedRowsAreNoted(t *testing.T) {
	t.Parallel()
	r := newReplication(t, replicatedTable)
	r.publish("insert into shop.failures values (1, 'a', 'X')")
	before := r.dump()
	r.adopt("shop.failures", wire.Mapping{Entity: "order_id", Code: "code"})
	r.subscribe("shop.failures", "")
	r.arrives("id = 1")
	await(t, r.super, "", "initial copy", "select bool_and(srsubstate = 'r') from pg_subscription_rel")
	r.want("{1} {a}; {1} {a}") // the initial copy is a COPY, which fires statement triggers too

	r.publish("insert into shop.failures values (2, 'b', 'X'), (3, 'c', 'X')")
	r.publish("update shop.failures set code = 'Y' where id = 2; update shop.failures set other = 1 where id = 2; update shop.failures set id = 4 where id = 3; delete from shop.failures where id = 1; insert into shop.failures values (5, null, 'X')")
	r.arrives("id = 5")
	r.want("{2} {b}; {3} {c}; {2} {b}; {4,3} {c}; {1} -; {5} -")
	r.as("insert into shop.failures values (6, 'd', 'X')")
	r.want("{6} {d}")

	for _, rename := range []string{"alter table shop.failures rename order_id to o", "alter table shop.failures rename id to order_id", "alter table shop.failures rename o to id", "alter table shop.failures drop spare", "alter table shop.failures alter other type bigint"} {
		r.as(rename)
		r.publish(rename)
	}
	r.publish("insert into shop.failures values (7, 'e', 'X', 0); update shop.failures set id = 'f' where order_id = 7; delete from shop.failures where order_id = 7; insert into shop.failures values (8, 'g', 'X', 0)")
	r.arrives("order_id = 8")
	r.want("{7} {e}; {7} {f}; {7} -; {8} {g}")
	r.publish("truncate shop.failures; insert into shop.failures values (9, 'h', 'X', 0)")
	r.arrives("order_id = 9")
	r.want("- -; {9} {h}")

	for _, rename := range []string{"alter table shop.failures rename id to o", "alter table shop.failures rename order_id to id", "alter table shop.failures rename o to order_id"} {
		r.as(rename)
	}
	if forgotten, err := r.runner().Release(t.Context(), "shop.failures"); err != nil || !forgotten {
		t.Fatal(forgotten, err)
	}
	if plan := r.plan(define.Request{}); !strings.Contains(strings.Join(plan.Notes, " "), "It is in a subscription.") {
		t.Errorf("the plan says nothing of the subscription: %q", plan.Notes)
	}
	r.as("alter table shop.failures add spare int, alter other type int")
	if after := r.dump(); strings.Contains(difference(before, after), "adopted_") {
		t.Errorf("after the release:\n%s", difference(before, after))
	}
}

// TestReplicationChecksWhoNotesChanges has the owner of one table note changes of another in a session of
// replication, in which ordinary triggers do not fire.
func TestReplicationChecksWhoNotesChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, replicatedTable)
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id", Code: "code"})
	super := connect(t, asSuper(w.url))
	_, err := super.Exec(t.Context(), "set session_replication_role = replica; set role "+w.role+"; insert into recoup.adopted_change (adoption_id, numbers) values (77, '{1}')", pgx.QueryExecModeSimpleProtocol)
	if err == nil || !strings.Contains(err.Error(), "does not own") {
		t.Errorf("a change of another adoption: %v", err)
	}
}

// TestReplicatedPartitionsAreNoted replicates a partitioned table, partition by partition and by its
// root. Rows of a partition that was created or attached after the adoption are noted too, and those
// of a partition of a partition.
func TestReplicatedPartitionsAreNoted(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{"by partition": "", "by the root": " with (publish_via_partition_root = true)"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplication(t, `create table shop.failures (id int primary key, order_id text, code text) partition by range (id);
				create table shop.failures_1 partition of shop.failures for values from (0) to (10);
				create table shop.failures_2 partition of shop.failures for values from (10) to (20) partition by range (id);
				create table shop.failures_2a partition of shop.failures_2 for values from (10) to (15)`)
			r.adopt("shop.failures", wire.Mapping{Entity: "order_id", Code: "code"})
			const later = `create table shop.failures_2b partition of shop.failures_2 default; create table shop.failures_3 (like shop.failures including all);
				alter table shop.failures attach partition shop.failures_3 for values from (20) to (30)`
			r.as(later)
			r.publish(later)
			r.subscribe("shop.failures", options)
			await(t, r.super, "", "initial copy", "select bool_and(srsubstate = 'r') from pg_subscription_rel")
			r.publish(`insert into shop.failures values (1, 'a', 'X'), (11, 'b', 'X'), (16, 'c', 'X'), (21, 'd', 'X');
				update shop.failures set code = 'Y' where id = 21; delete from shop.failures where id = 16; insert into shop.failures values (2, 'e', 'X')`)
			r.arrives("id = 2")
			r.want("{1} {a}; {11} {b}; {16} {c}; {21} {d}; {21} {d}; {16} -; {2} {e}")
			if missing := ask(t, r.super, `select p.relid::regclass, t.tgenabled from pg_partition_tree('shop.failures') p
				join pg_trigger t on t.tgrelid = p.relid where t.tgname = 'adopted_1_replicated' and t.tgenabled <> 'R'`); missing != "" {
				t.Errorf("row triggers that other writers pay for: %s", missing)
			}
		})
	}
}
