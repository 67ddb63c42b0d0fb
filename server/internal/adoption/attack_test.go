package adoption_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// intruder is what an owner of a table runs where he can: it inserts an admin key, and writes
// down as whom it ran. %s is where.
const intruder = `
create schema trap; grant usage, create on schema trap to public;
create table trap.ran (place text, who text, session text, came text);
grant all on trap.ran to public;
create function trap.run(place text) returns void language plpgsql as $f$
declare came text := 'nothing';
begin
  begin
    insert into recoup.api_key (key_id, name, role, key_hash, created_at, created_by) values (gen_random_uuid(), 'trap', 'admin', sha256(gen_random_uuid()::text::bytea), now(), 'trap');
    came := 'key';
  exception when others then came := sqlstate;
  end;
  begin
    perform count(*) from recoup.adoption_login;
    came := came || ' token';
  exception when others then null;
  end;
  begin
    execute 'create role trapped superuser';
    came := came || ' role';
  exception when others then null;
  end;
  begin
    set role recoup_owner;
    came := came || ' owner';
  exception when others then null;
  end;
  insert into trap.ran values (place, current_user::text, session_user::text, came);
end $f$;
grant execute on function trap.run(text) to public;
create function trap.hijack(text, text) returns boolean language plpgsql as $f$ begin perform trap.run('operator'); return $1 operator(pg_catalog.=) $2; end $f$;
create operator trap.= (leftarg = text, rightarg = text, function = trap.hijack);
create function trap.on_update() returns trigger language plpgsql as $f$ begin
  perform set_config('search_path', 'trap, pg_catalog, recoup', false);
  perform trap.run('update trigger');
  return new; end $f$;
create function trap.at_commit() returns trigger language plpgsql as $f$ begin perform trap.run('deferred trigger'); return null; end $f$;
create function trap.hold() returns trigger language plpgsql as $f$ begin
  execute 'declare trap_cursor cursor with hold for select trap.run(''held cursor'')'; return new; exception when duplicate_cursor then return new; end $f$;`

// trapped makes a world whose table has an owner with traps in all places that code of his runs.
func trapped(t *testing.T) *world {
	t.Helper()
	return trap(newWorld(t))
}

// trappedAt makes such a world on a server of its own.
func trappedAt(t *testing.T, server *pgtest.Server) *world {
	t.Helper()
	db, url := node.PostgresAt(t, server)
	return trap(newWorldOn(t, db, url))
}

func trap(w *world) *world {
	w.Helper()
	w.exec("do 'begin create role mallory; exception when duplicate_object or unique_violation then null; end'; grant mallory to recoup_owner; grant create on database " + pgx.Identifier{w.ask("select current_database()")}.Sanitize() + " to mallory")
	w.exec("alter schema shop owner to mallory; alter table shop.failures owner to mallory; set role mallory;" + intruder + `
		create trigger a before update on shop.failures for each row execute function trap.on_update();
		create trigger c before update on shop.failures for each row execute function trap.hold();
		create constraint trigger b after update on shop.failures deferrable initially deferred for each row execute function trap.at_commit();
		reset role`)
	return w
}

// harmless checks that no trap has come to anything, and where traps have run.
func (w *world) harmless(places ...string) {
	w.Helper()
	w.want("select count(*) from recoup.api_key where name = 'trap'", "0")
	w.want("select count(*) from pg_roles where rolname = 'trapped'", "0")
	for _, ran := range strings.Split(w.ask("select distinct place, who, session, came from trap.ran"), "\n") {
		if f := strings.Fields(ran); ran != "" && (strings.Contains(ran, "key") && !strings.Contains(ran, "nothing") || strings.Contains(ran, "token") || strings.Contains(ran, "role") && len(f) > 4 || strings.Contains(ran, "owner") && len(f) > 4 || strings.Contains(ran, "recoup_app")) {
			w.Errorf("a trap has come to something: %s", ran)
		}
	}
	for _, place := range places {
		if w.ask("select count(*) from trap.ran where place = '"+place+"'") == "0" {
			w.Errorf("the trap %q did not run: the test shows nothing", place)
		}
	}
}

// TestOwnersCodeReachesNothing mirrors rows of a table whose owner has set traps: his code runs
// with his own rights, or those of a role that has none.
func TestOwnersCodeReachesNothing(t *testing.T) {
	t.Parallel()
	w := trapped(t)
	w.exec("insert into shop.failures (order_id, kind, note) values ('o1', 'TIMEOUT', 'x'), ('o2', 'TIMEOUT', 'x')")
	w.adopt(mapping)
	w.settle()
	w.settle()
	w.want("select count(*) from shop.failures where disposition is not null", "2")
	w.harmless("update trigger", "deferred trigger")
	w.want("select distinct session = (select role from recoup.adoption_login) as own from trap.ran", "true")
}

// TestOwnersFunctionsReachNothing alters and replaces the functions by which nodes reach a
// table: what runs then has the rights of a role that has none, and the doctor finds it.
func TestOwnersFunctionsReachNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"invoker":  "alter function recoup.adopted_1_read(text[]) security invoker",
		"settings": "alter function recoup.adopted_1_read(text[]) set search_path = trap, recoup",
		"body": `create or replace function recoup.adopted_1_read(keys text[]) returns setof recoup.source_row language plpgsql as $f$ begin
			perform trap.run('body'); return query select k, 'o', 'TIMEOUT', null::text, repeat('x', 100000), null::timestamptz, true, null::jsonb, false, null::text, null::text, null::text, null::text from unnest($1) k; end $f$`,
		"too many rows": `create or replace function recoup.adopted_1_read(keys text[]) returns setof recoup.source_row language sql as $f$
			select n::text, 'o', 'TIMEOUT', null::text, 'x', null::timestamptz, true, null::jsonb, false, null::text, null::text, null::text, null::text from generate_series(1, 100000) n $f$`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := trapped(t)
			w.adopt(mapping)
			w.exec("grant create on schema recoup to mallory; set role mallory; " + change + "; reset role; revoke create on schema recoup from mallory")
			w.exec("insert into shop.failures (order_id, kind, note) values ('o1', 'TIMEOUT', 'x')")
			if err := w.service.Settle(t.Context()); (err != nil) != (name == "invoker" || name == "too many rows") {
				t.Errorf("settled: %v", err)
			}
			w.harmless()
			facts, err := w.db.Inspect(t.Context(), store.Inspection{})
			w.Must(err)
			if got := fmt.Sprint(adoption.FactsOf(&facts)[0].Altered); got != "[adopted_1_read]" {
				t.Errorf("altered: %s", got)
			}
		})
	}
}

// other adopts a second table, of another owner, and returns the number of its adoption.
func (w *world) other() string {
	w.Helper()
	w.exec(`create schema other; create table other.failures (id bigint primary key, order_id text, kind text); insert into other.failures values (1, 'secret', 'X')`)
	plan, err := define.MakePlan(w.Context(), w.owner, define.Request{
		Source: "other.failures", As: w.ask("select min(table_name) from recoup.error_table where table_name <> 'outreach.dol_errors' and not retired and not dead_letter"),
		Mapping: wire.Mapping{Entity: "order_id", Disposition: "disposition", ArchivedAt: "archived_at"},
	})
	w.Must(err)
	if len(plan.Refusals) > 0 {
		w.Fatal(plan.Refusals)
	}
	w.Must(w.runner().Apply(w.Context(), plan))
	return w.ask("select max(adoption_id) from recoup.adoption")
}

// TestOwnersDoNotReachEachOther calls the functions of another adoption from a trigger in a
// node's session.
func TestOwnersDoNotReachEachOther(t *testing.T) {
	t.Parallel()
	w := trapped(t)
	w.other()
	w.exec(`set role mallory; create or replace function trap.at_commit() returns trigger language plpgsql as $f$
		declare came text := 'nothing'; begin
		begin
			perform r.entity_id from recoup.adopted_1_read('{1}') r; came := 'read';
		exception when others then came := sqlerrm; end;
		insert into trap.ran values ('other', current_user::text, session_user::text, came); return null; end $f$; reset role`)
	w.exec("insert into shop.failures (order_id, kind) values ('o1', 'TIMEOUT')")
	w.adopt(mapping)
	w.settle()
	w.settle()
	w.want("select distinct came from trap.ran where place = 'other'", "permission denied for function adopted_1_read")
}

// sabotage has the traps do what code in a session of a login role can do to that role.
const sabotage = `set role mallory; create or replace function trap.run(place text) returns void language plpgsql as $f$
	declare act text; came text; begin
	if session_user = 'recoup_owner' then return; end if;
	foreach act in array array[
		format('alter role %I password %L', session_user, 'mallory'),
		format('alter role %I set lock_timeout = 1', session_user),
		format('drop owned by %I', session_user),
		'select pg_terminate_backend(pid) from pg_stat_activity where starts_with(usename, $$recoup_adopter_$$) and pid <> pg_backend_pid()'] loop
		begin
			execute act; came := 'done';
		exception when others then came := sqlerrm; end;
		insert into trap.ran values (place, current_user::text, session_user::text, came);
	end loop; end $f$; reset role`

// TestOwnersStopOnlyTheirOwnAdoption has code of one owner run at the commit of a node's session
// and change the password, the settings and the privileges of the session's role. Nodes still
// reach the table of another owner. The doctor finds the damage, and adopting the table again
// repairs it.
func TestOwnersStopOnlyTheirOwnAdoption(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	w := trappedAt(t, server)
	w.exec(sabotage)
	other := w.other()
	w.exec("insert into shop.failures (order_id, kind, note) values ('o1', 'TIMEOUT', 'x')")
	w.adopt(mapping)
	server.Admin(t, `do $d$ begin
		execute format('copy (select line from unnest(array[%L, %L]) line) to %L',
			'local all postgres,recoup_owner,recoup_app trust', 'local all all scram-sha-256', current_setting('hba_file'));
		perform pg_reload_conf(); end $d$`)
	mine := w.ask("select adoption_id from recoup.adoption where source = 'shop.failures'")
	await := func(id string, reached bool) {
		t.Helper()
		for range 100 {
			facts, err := w.db.Inspect(t.Context(), store.Inspection{})
			w.Must(err)
			for _, a := range adoption.FactsOf(&facts) {
				if fmt.Sprint(a.ID) == id && (a.Unreachable == "") == reached {
					return
				}
			}
			w.Must(retry.Sleep(t.Context(), 50*time.Millisecond))
		}
		t.Fatalf("adoption %s: reached is never %v", id, reached)
	}
	settle := func() { // fails at the table whose owner has damaged its role
		for range 3 {
			if err := w.service.Settle(t.Context()); err != nil {
				t.Log(err)
			}
		}
	}
	settle()
	w.want("select count(*) > 0 from trap.ran where came = 'done' and who <> 'mallory'", "true")
	await(mine, false)
	await(other, true)
	w.exec("insert into other.failures values (2, 'o2', 'X')")
	settle()
	w.want("select order_id from other.failures where disposition is null", "")

	w.exec("set role mallory; drop trigger a on shop.failures; drop trigger b on shop.failures; drop trigger c on shop.failures; reset role")
	w.adopt(mapping)
	await(mine, true)
	w.exec("insert into shop.failures (order_id, kind, note) values ('o2', 'TIMEOUT', 'x')")
	w.settle()
	w.settle()
	w.want("select count(*) from shop.failures where disposition is null", "0")
}

// TestAdopterHasNothing lists what the role as which nodes reach an adopted table may do.
func TestAdopterHasNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.other()
	role := w.ask("select role from recoup.adoption_login where adoption_id = 1")
	want := func(sql, answer string) {
		t.Helper()
		w.want(strings.ReplaceAll(sql, "ROLE", "'"+role+"'"), answer)
	}
	want(`select c.oid::regclass from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('recoup', 'cl', 'shop')
		and c.relkind in ('r', 'p', 'v', 'm') and (has_table_privilege(ROLE, c.oid, 'select, insert, update, delete, truncate, references, trigger')
			or has_any_column_privilege(ROLE, c.oid, 'select, insert, update, references'))`, "")
	want("select has_schema_privilege(ROLE, 'recoup', 'create'), has_database_privilege(ROLE, current_database(), 'create')", "false false")
	want("select count(*) from pg_auth_members where member = ROLE::regrole", "0")
	want(`select p.proname from pg_proc p where p.pronamespace = 'recoup'::regnamespace and p.prorettype <> 'trigger'::regtype
		and has_function_privilege(ROLE, p.oid, 'execute') and not has_function_privilege('public', p.oid, 'execute') order by 1`,
		"adopted_1_last\nadopted_1_mirror\nadopted_1_read\nadopted_1_scan")
	want("select count(*) from pg_proc p where p.proname ~ '^adopted_[0-9]+_' and has_function_privilege('recoup_app', p.oid, 'execute')", "0")
	want("select r.rolname from pg_roles r where r.rolname in ('recoup_reader', 'recoup_writer', ROLE) and has_any_column_privilege(r.oid, 'recoup.adoption_login', 'select')", "")
	want("select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolinherit, rolconnlimit from pg_roles where rolname = ROLE", "false false false false false false 5")
	for _, limit := range []string{"-1", "5"} {
		w.exec("alter role " + role + " connection limit " + limit)
		facts, err := w.db.Inspect(t.Context(), store.Inspection{})
		w.Must(err)
		found := map[string]string{}
		for _, a := range adoption.FactsOf(&facts) {
			found[a.Source] = a.Unlimited
		}
		if repair := map[string]string{"-1": "alter role " + role + " connection limit 5"}[limit]; found["shop.failures"] != repair || found["other.failures"] != "" {
			t.Errorf("with a limit of %s: %q", limit, found)
		}
	}
	forgotten, err := w.runner().Release(t.Context(), "shop.failures")
	w.Must(err)
	if !forgotten {
		t.Error("the adoption is still there")
	}
	want("select count(*) from pg_roles where rolname = ROLE", "0")
}
