package define_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// world is a database with a policy's table and a table of somebody else's.
type world struct {
	t          testing.TB
	owner, app *pgx.Conn
	adopter    *pgx.Conn // as which nodes reach the adopted table; nil: not connected yet
	url        string
	appURL     string
	role       string // owns the source
}

var roles atomic.Int64

// newWorld makes a migrated database with a schema "shop" of a role of its own.
func newWorld(t testing.TB, ddl string) *world {
	t.Helper()
	ownerURL, appURL := pgtest.Migrated(t)
	return newWorldAt(t, ownerURL, appURL, ddl)
}

// newWorldAt is newWorld in a database that there is.
func newWorldAt(t testing.TB, ownerURL, appURL, ddl string) *world {
	t.Helper()
	w := &world{t: t, owner: connect(t, ownerURL), app: connect(t, appURL), url: ownerURL, appURL: appURL, role: fmt.Sprintf("shop_%d", roles.Add(1))}
	w.exec(fmt.Sprintf("create role %[1]s; grant %[1]s to recoup_owner; create schema shop authorization %[1]s", w.role))
	w.exec(`insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, ttl, blocks, policy_version)
		values ('shop.errors', 'shop', 'order_id', '{RETRY,PARKED,ARCHIVE,RESOLVED}', 'RETRY', '30 days', true, '1.0.0')`)
	w.exec(fmt.Sprintf("set role %s; %s; reset role", w.role, ddl))
	return w
}

// node connects as nodes do to the adopted table.
func (w *world) node() *pgx.Conn {
	w.t.Helper()
	if w.adopter == nil {
		var role string
		if err := w.owner.QueryRow(w.t.Context(), "select role from recoup.adoption_login").Scan(&role); err != nil {
			w.t.Fatal(err)
		}
		w.adopter = connect(w.t, strings.Replace(w.appURL, "recoup_app@", role+"@", 1))
	}
	return w.adopter
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (w *world) exec(sql string) {
	w.t.Helper()
	if _, err := w.owner.Exec(w.t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// as does something as the owner of the source, as writers would.
func (w *world) as(sql string) {
	w.t.Helper()
	w.exec("set role " + w.role + "; " + sql + "; reset role")
}

// ask returns rows as text, as psql would.
func ask(t testing.TB, conn *pgx.Conn, sql string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), "select array_to_string(array(select row_to_json(q)::text from ("+sql+") q), E'\n')")
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

func (w *world) runner() *define.Runner {
	return &define.Runner{
		Conn: w.owner, Actor: "test", Patience: time.Minute, Random: func() float64 { return 0.5 }, Now: time.Now,
		Sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(d):
				return nil
			}
		},
	}
}

func (w *world) adopt(source string, m wire.Mapping) {
	w.t.Helper()
	w.adoptAs("shop.errors", source, m)
}

func (w *world) adoptAs(table, source string, m wire.Mapping) {
	w.t.Helper()
	plan, err := define.MakePlan(w.t.Context(), w.owner, define.Request{Source: source, As: table, Mapping: m})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(plan.Refusals) > 0 {
		w.t.Fatal(plan.Refusals)
	}
	if err := w.runner().Apply(w.t.Context(), plan); err != nil {
		w.t.Fatal(err)
	}
}

// dump is the definition of everything in the database. For servers newer than Debian's there
// may be no pg_dump: then it is what the catalog says of schemas, tables and functions.
func (w *world) dump() string {
	w.t.Helper()
	if one(w.t, w, "select current_setting('server_version_num')") < "160000" {
		return pgtest.DumpSchema(w.t, w.url)
	}
	return ask(w.t, w.owner, `select * from (
		select 'schema' as kind, nspname::text as name, nspacl::text as definition from pg_namespace
		union all select 'table', c.oid::regclass::text, concat_ws(' ', c.relkind, c.relacl, c.relowner::regrole, pg_get_viewdef(c.oid)) from pg_class c where c.relnamespace >= 2200
		union all select 'column', a.attrelid::regclass || '.' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attacl, pg_get_expr(d.adbin, d.adrelid)) from pg_attribute a
			join pg_class t on t.oid = a.attrelid and t.relnamespace >= 2200 left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where a.attrelid >= 16384 and a.attnum > 0 and not a.attisdropped
		union all select 'trigger', t.tgrelid::regclass || '.' || t.tgname, pg_get_triggerdef(t.oid) from pg_trigger t where not t.tgisinternal
		union all select 'function', p.oid::regprocedure::text, concat_ws(' ', p.proacl, p.prosecdef, p.proconfig, md5(p.prosrc)) from pg_proc p where p.oid >= 16384) o order by 1, 2, 3`)
}

// TestAnAdoptionIsReachedByItsFunctions adopts a table with a bigint key, writes to
// it, and asks the functions what a node would.
func TestAnAdoptionIsReachedByItsFunctions(t *testing.T) {
	w := newWorld(t, `create table shop.failures (id bigint generated always as identity primary key, order_id text, kind text, note text, at timestamptz default now());
		insert into shop.failures (order_id, kind, note, at) select 'o' || n, 'timeout', 'it took too long', '2026-01-01' from generate_series(1, 5) n`)
	before := w.dump()
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id", Code: "kind", Message: "note", CreatedAt: "at", Disposition: "disposition", ArchivedAt: "archived_at"})
	want := func(conn *pgx.Conn, sql, rows string) {
		t.Helper()
		if calls.MatchString(sql) {
			conn = w.node()
		}
		if got := ask(t, conn, sql); got != strings.TrimSpace(rows) {
			t.Errorf("%s:\n%s\nwant:\n%s", sql, got, rows)
		}
	}
	want(w.app, "select state, steps[1] from recoup.adoption", `{"state":"BACKFILLING","steps":"rights"}`)
	want(w.app, "select key, entity_id, code, message, governed from recoup.adopted_1_read(array(select recoup.adopted_1_scan('3', recoup.adopted_1_last(), 10)))", `
{"key":"4","entity_id":"o4","code":"timeout","message":"it took too long","governed":true}
{"key":"5","entity_id":"o5","code":"timeout","message":"it took too long","governed":true}`)
	want(w.app, "select count(*) from recoup.adopted_1_scan(null, recoup.adopted_1_last(), 3)", `{"count":3}`)
	w.as("insert into shop.failures (order_id, kind) values ('o6', 'gone'), ('o6', 'gone')")
	w.as("update shop.failures set note = 'x' where id = 1")
	w.as("update shop.failures set disposition = 'PARKED' where id = 2")
	w.as("delete from shop.failures where id = 3")
	w.as("truncate shop.failures")
	want(w.app, "select "+notedKeys+" as keys, "+notedEntities+" as entities from recoup.adopted_change order by change_id", `
{"keys":["6","7"],"entities":["o6"]}
{"keys":["1"],"entities":["o1"]}
{"keys":["3"],"entities":null}
{"keys":null,"entities":null}`)
	w.as("insert into shop.failures (order_id, kind) values ('o8', 'gone'), ('o9', 'gone')")
	want(w.app, "select recoup.adopted_1_mirror('{8,9,1}', '{PARKED,RETRY,RETRY}', '{null,null,null}') as done", `{"done":["8","9","1"]}`)
	want(w.app, "select count(*) from recoup.adopted_1_read('{8,9,1}')", `{"count":2}`)
	want(w.owner, "select id, disposition from shop.failures", `
{"id":9,"disposition":"RETRY"}
{"id":8,"disposition":"PARKED"}`)

	tx, err := w.owner.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "select from shop.failures where id = 8 for no key update")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.node().Exec(t.Context(), "set lock_timeout = '5s'"); err != nil {
		t.Fatal(err)
	}
	want(w.app, "select recoup.adopted_1_mirror('{8,9}', '{ARCHIVE,ARCHIVE}', '{2026-01-01,2026-01-01}') as done", `{"done":["9"]}`)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	forgotten, err := w.runner().Release(t.Context(), "shop.failures")
	if err != nil || !forgotten {
		t.Fatal(forgotten, err)
	}
	if after := w.dump(); after != before {
		t.Errorf("after the release:\n%s", difference(before, after))
	}
	want(w.owner, "select actor, act, target, details from recoup.audit order by seq", `
{"actor":"test","act":"table.adopt","target":"shop.failures","details":{"table" : "shop.errors"}}
{"actor":"test","act":"table.release","target":"shop.failures","details":{"table" : "shop.errors"}}`)
}

// difference shows the lines that one text has and the other has not.
func difference(before, after string) string {
	var out strings.Builder
	for _, side := range []struct{ mark, in, of string }{{"-", after, before}, {"+", before, after}} {
		have := map[string]bool{}
		for line := range strings.Lines(side.in) {
			have[line] = true
		}
		for line := range strings.Lines(side.of) {
			if !have[line] {
				out.WriteString(side.mark + line)
			}
		}
	}
	return out.String()
}
