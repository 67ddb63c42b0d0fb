package define_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestReleaseAfterChanges changes a table behind the back of its adoption: a release takes
// everything out all the same.
func TestReleaseAfterChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct{ sql, now string }{
		"renamed":              {"alter table shop.failures rename to faults", "shop.faults"},
		"columns renamed":      {"alter table shop.failures rename order_id to thing; alter table shop.failures rename note to said", "shop.failures"},
		"column dropped":       {"alter table shop.failures drop note cascade", "shop.failures"},
		"given to another":     {"alter table shop.failures owner to recoup_owner", "shop.failures"},
		"columns of ours gone": {"alter table shop.failures drop disposition", "shop.failures"},
		"dropped":              {"drop table shop.failures cascade", "shop.failures"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ddl = "create table shop.failures (id bigint primary key, order_id text, note text)"
			plain, w := newWorld(t, ddl), newWorld(t, ddl)
			w.adopt("shop.failures", wire.Mapping{Entity: "order_id", Code: "", Message: "note"})
			w.exec(change.sql)
			if forgotten, err := w.runner().Release(t.Context(), change.now); err != nil || !forgotten {
				t.Fatalf("released: %t, %v", forgotten, err)
			}
			if name != "columns of ours gone" {
				plain.exec(change.sql)
			}
			if name == "given to another" { // who perhaps has columns of these names
				w.exec("alter table shop.failures drop disposition, drop archived_at")
			}
			const defined = "select c.relname, (select string_agg(a.attname, ' ' order by a.attnum) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns, c.relhastriggers and exists (select from pg_trigger t where t.tgrelid = c.oid) as triggers from pg_class c where c.relnamespace = 'shop'::regnamespace order by 1"
			if got, want := ask(t, w.owner, defined), ask(t, plain.owner, defined); got != want {
				t.Errorf("left:\n%s\nwant\n%s", got, want)
			}
			if left := ask(t, w.owner, "select p.proname from pg_proc p where p.proname ~ '^adopted_[0-9]'"); left != "" {
				t.Errorf("functions are left: %s", left)
			}
		})
	}
}

// TestReleaseOfADetachedPartition detaches a partition of an adopted table, and drops
// another: the one that is left is what it was.
func TestReleaseOfADetachedPartition(t *testing.T) {
	t.Parallel()
	const ddl = `create table shop.failures (id int primary key, order_id text) partition by range (id);
		create table shop.a partition of shop.failures for values from (0) to (10); create table shop.b partition of shop.failures for values from (10) to (20); create table shop.c partition of shop.failures for values from (20) to (30)`
	const change = "alter table shop.failures detach partition shop.a; drop table shop.b"
	w := newWorld(t, ddl)
	w.adopt("shop.failures", wire.Mapping{})
	w.as(change)
	w.as("insert into shop.a values (1, 'a')")
	if _, err := w.runner().Release(t.Context(), "shop.failures"); err != nil {
		t.Fatal(err)
	}
	plain := newWorld(t, ddl)
	plain.as(change)
	if got, want := strings.ReplaceAll(w.dump(), w.role, "shop"), strings.ReplaceAll(plain.dump(), plain.role, "shop"); got != want {
		t.Errorf("after the release:\n%s", difference(want, got))
	}
}

// altered is a change of an adopted table of the columns id, spare, order_id and note.
type altered struct {
	sql     string
	table   string // what it is called then
	columns string // of the key, the entity and the message, as they are called then
	refused bool   // by the database, because of the adoption
	blind   bool   // it takes the triggers with it
}

var alterations = map[string]altered{
	"nothing":                      {sql: "select"},
	"key renamed":                  {sql: "alter table shop.failures rename id to no", columns: "no order_id note"},
	"entity renamed":               {sql: "alter table shop.failures rename order_id to thing", columns: "id thing note"},
	"message renamed":              {sql: "alter table shop.failures rename note to said", columns: "id order_id said"},
	"names exchanged":              {sql: "alter table shop.failures rename note to x; alter table shop.failures rename order_id to note; alter table shop.failures rename x to order_id", columns: "id note order_id"},
	"another dropped":              {sql: "alter table shop.failures drop spare"},
	"another of another type":      {sql: "alter table shop.failures alter spare type int using 1"},
	"more columns":                 {sql: "alter table shop.failures add k int, add e int, add r int, add n int, add w1 int"},
	"renamed":                      {sql: "alter table shop.failures rename to faults", table: "shop.faults"},
	"another schema":               {sql: "create schema depot; grant all on schema depot to public; alter table shop.failures set schema depot", table: "depot.failures"},
	"given to another":             {sql: "alter table shop.failures owner to recoup_owner"},
	"dropped":                      {sql: "drop table shop.failures", refused: true},
	"key of another type":          {sql: "alter table shop.failures alter id type text", refused: true},
	"entity of another type":       {sql: "alter table shop.failures alter order_id type varchar(40)", refused: true},
	"entity dropped":               {sql: "alter table shop.failures drop order_id", refused: true},
	"message dropped":              {sql: "alter table shop.failures drop note", refused: true},
	"entity dropped, with cascade": {sql: "alter table shop.failures drop order_id cascade", columns: "id - note", blind: true},
	"view dropped, with cascade":   {sql: "drop view recoup.adopted_1_recoup_release_first cascade", blind: true},
}

// write has a row of a table inserted, changed and deleted, as the owner's programs do.
func write(t *testing.T, conn *pgx.Conn, table, columns string) {
	t.Helper()
	var names, values, changes []string
	for i, name := range strings.Fields(columns) {
		if name != "-" {
			names, values = append(names, name), append(values, []string{"1", "'a'", "'x'"}[i])
			changes = append(changes, name+" = "+[]string{"1", "'b'", "'y'"}[i])
		}
	}
	for _, sql := range []string{
		fmt.Sprintf("insert into %s (%s) values (%s)", table, strings.Join(names, ", "), strings.Join(values, ", ")),
		fmt.Sprintf("update %s set %s", table, strings.Join(changes, ", ")),
		"delete from " + table,
		"truncate " + table,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestWritersOutliveChanges changes a table behind the back of its adoption. What would take
// a column from under its triggers is refused, and the refusal names the way out; everything
// else its writers outlive. What they write is noted by the same columns, whatever these are
// called now.
func TestWritersOutliveChanges(t *testing.T) {
	t.Parallel()
	for name, c := range alterations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "create table shop.failures (id bigint primary key, spare text, order_id text, note text)")
			before := w.dump()
			w.adopt("shop.failures", wire.Mapping{Entity: "order_id", Message: "note"})
			seasoned := connect(t, w.url)
			write(t, seasoned, "shop.failures", "id order_id note")
			_, err := w.owner.Exec(t.Context(), c.sql, pgx.QueryExecModeSimpleProtocol)
			said, _ := errors.AsType[*pgconn.PgError](err)
			if (err != nil) != c.refused || c.refused && !strings.Contains(said.Detail, "recoup_release_first") {
				t.Fatalf("%s: %v (%+v)", c.sql, err, said)
			}
			table := cmp.Or(c.table, "shop.failures")
			for _, conn := range []*pgx.Conn{seasoned, connect(t, w.url)} {
				w.exec("delete from recoup.adopted_change")
				write(t, conn, table, cmp.Or(c.columns, "id order_id note"))
				want := `{"keys":["1"],"entities":["a"]}
{"keys":["1"],"entities":["b"]}
{"keys":["1"],"entities":null}
{"keys":null,"entities":null}`
				if c.blind {
					want = ""
				}
				if got := ask(t, w.owner, "select "+notedKeys+" as keys, "+notedEntities+" as entities from recoup.adopted_change order by change_id"); got != want {
					t.Errorf("noted:\n%s\nwant:\n%s", got, want)
				}
			}
			if forgotten, err := w.runner().Release(t.Context(), table); err != nil || !forgotten {
				t.Fatalf("released: %t, %v", forgotten, err)
			}
			if after := w.dump(); (c.refused || name == "nothing") && after != before {
				t.Errorf("after the release:\n%s", difference(before, after))
			}
		})
	}
}

// TestWritersWithAnOldSnapshot renames a column while a transaction is open whose snapshot
// still has the old name: what it writes is noted all the same.
func TestWritersWithAnOldSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id bigint primary key, order_id text, note text)")
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id", Message: "note"})
	writer := connect(t, w.url)
	for _, sql := range []string{"insert into shop.failures values (0, 'a')", "begin isolation level repeatable read", "select"} {
		if _, err := writer.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	w.exec("delete from recoup.adopted_change; alter table shop.failures rename order_id to thing; alter table shop.failures rename note to order_id")
	for _, sql := range []string{"insert into shop.failures values (1, 'a', 'b')", "commit"} {
		if _, err := writer.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := ask(t, w.owner, "select "+notedKeys+" as keys, "+notedEntities+" as entities from recoup.adopted_change"), `{"keys":["1"],"entities":["a"]}`; got != want {
		t.Errorf("noted %s, want %s", got, want)
	}
}

// TestWritersOutliveATypesChanges renames the type of a queue's state and one of its labels.
func TestWritersOutliveATypesChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `create type shop.job_state as enum ('available', 'discarded', 'completed', 'cancelled');
		create table shop.jobs (id bigint primary key, state shop.job_state, queue text, kind text, args jsonb, errors jsonb[], attempt int, max_attempts int, finalized_at timestamptz, scheduled_at timestamptz)`)
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.jobs", As: "shop.errors", Preset: "river", NoMirror: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.runner().Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	w.as("insert into shop.jobs (id, state) values (1, 'discarded'), (2, 'available')")
	w.as("alter type shop.job_state rename to work_state; alter type shop.work_state rename value 'completed' to 'done'")
	w.as("insert into shop.jobs (id, state) values (3, 'discarded'), (4, 'done')")
	if got, want := ask(t, w.owner, "select "+notedKeys+" as keys from recoup.adopted_change order by change_id"), "{\"keys\":[\"1\"]}\n{\"keys\":[\"3\"]}"; got != want {
		t.Errorf("noted %s, want %s", got, want)
	}
}

// TestWritersOutliveARename renames the role that owns an adopted table. Its writers go on, what they
// write is noted, and the table can be released.
func TestWritersOutliveARename(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id bigint primary key, order_id text)")
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id"})
	admin := connect(t, strings.Replace(w.url, "recoup_owner@", "postgres@", 1))
	was := w.role
	w.role += "_renamed"
	if _, err := admin.Exec(t.Context(), fmt.Sprintf("alter role %s rename to %s", was, w.role)); err != nil {
		t.Fatal(err)
	}
	w.as("insert into shop.failures (id, order_id) values (1, 'a')")
	if got := ask(t, w.owner, "select numbers from recoup.adopted_change"); got != `{"numbers":[1]}` {
		t.Errorf("noted: %s", got)
	}
	if forgotten, err := w.runner().Release(t.Context(), "shop.failures"); err != nil || !forgotten {
		t.Fatalf("released: %t, %v", forgotten, err)
	}
}
