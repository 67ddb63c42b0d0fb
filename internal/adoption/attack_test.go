package adoption_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/adopt"
	"recoup/internal/store"
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
    insert into recoup.api_key (key_id, name, role, hash, created_at, created_by) values ('00000000-0000-7000-8000-00000000beef', 'trap', 'admin', 'x', now(), 'trap');
    came := 'key';
  exception when others then came := sqlstate;
  end;
  begin
    perform count(*) from recoup.adoption_token;
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
	w := newWorld(t)
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
	w.want("select distinct session from trap.ran where place <> 'x'", "recoup_adopter")
}

// TestOwnersFunctionsReachNothing alters and replaces the functions by which nodes reach a
// table: what runs then has the rights of a role that has none, and the doctor finds it.
func TestOwnersFunctionsReachNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"invoker":  "alter function recoup.adopted_1_read(bytea, text[]) security invoker",
		"settings": "alter function recoup.adopted_1_read(bytea, text[]) set search_path = trap, recoup",
		"body": `create or replace function recoup.adopted_1_read(token bytea, keys text[]) returns setof recoup.source_row language plpgsql as $f$ begin
			perform trap.run('body'); return query select k, 'o', 'TIMEOUT', null::text, repeat('x', 100000), null::timestamptz, true, null::jsonb, false, null::text, null::text, null::text from unnest($2) k; end $f$`,
		"too many rows": `create or replace function recoup.adopted_1_read(token bytea, keys text[]) returns setof recoup.source_row language sql as $f$
			select n::text, 'o', 'TIMEOUT', null::text, 'x', null::timestamptz, true, null::jsonb, false, null::text, null::text, null::text from generate_series(1, 100000) n $f$`,
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
			if got := fmt.Sprint(facts.Adoptions[0].Altered); got != "[adopted_1_read]" {
				t.Errorf("altered: %s", got)
			}
		})
	}
}

// TestOwnersDoNotReachEachOther calls the functions of another adoption from a trigger in a
// node's session: without its token they refuse.
func TestOwnersDoNotReachEachOther(t *testing.T) {
	t.Parallel()
	w := trapped(t)
	w.exec(`create schema other; create table other.failures (id bigint primary key, order_id text, kind text); insert into other.failures values (1, 'secret', 'X')`)
	plan, err := adopt.MakePlan(t.Context(), w.owner, adopt.Request{Source: "other.failures", As: w.ask("select min(table_name) from recoup.error_table where table_name <> 'outreach.dol_errors' and not retired and not dead_letter"), Mapping: recoup.Mapping{Entity: "order_id"}})
	w.Must(err)
	if len(plan.Refusals) > 0 {
		t.Fatal(plan.Refusals)
	}
	w.Must(w.runner().Apply(t.Context(), plan))
	w.exec(`set role mallory; create or replace function trap.at_commit() returns trigger language plpgsql as $f$
		declare came text := 'nothing'; begin
		begin
			perform r.entity_id from recoup.adopted_1_read('\x00', '{1}') r; came := 'read';
		exception when others then came := sqlerrm; end;
		insert into trap.ran values ('other', current_user::text, session_user::text, came); return null; end $f$; reset role`)
	w.exec("insert into shop.failures (order_id, kind) values ('o1', 'TIMEOUT')")
	w.adopt(mapping)
	w.settle()
	w.settle()
	// From PostgreSQL 18 on a deferred trigger runs as who has queued it.
	if got := w.ask("select distinct who, came from trap.ran where place = 'other'"); got != "recoup_adopter adoption 1: wrong token" && got != "mallory permission denied for function adopted_1_read" {
		t.Errorf("the other owner's functions: %q", got)
	}
}

// TestAdopterHasNothing lists what the role as which nodes reach adopted tables may do.
func TestAdopterHasNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.want(`select c.oid::regclass from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('recoup', 'cl', 'shop')
		and c.relkind in ('r', 'p', 'v', 'm') and (has_table_privilege('recoup_adopter', c.oid, 'select, insert, update, delete, truncate, references, trigger')
			or has_any_column_privilege('recoup_adopter', c.oid, 'select, insert, update, references'))`, "")
	w.want("select has_schema_privilege('recoup_adopter', 'recoup', 'create'), has_database_privilege('recoup_adopter', current_database(), 'create')", "false false")
	w.want("select count(*) from pg_auth_members where member = 'recoup_adopter'::regrole", "0")
	w.want(`select distinct regexp_replace(p.proname, '\d+', 'N') from pg_proc p where p.pronamespace = 'recoup'::regnamespace and p.prorettype <> 'trigger'::regtype
		and has_function_privilege('recoup_adopter', p.oid, 'execute') and not has_function_privilege('public', p.oid, 'execute') order by 1`,
		"adopted_N_last\nadopted_N_mirror\nadopted_N_read\nadopted_N_scan")
	w.want("select count(*) from pg_proc p where p.proname ~ '^adopted_[0-9]+_' and has_function_privilege('recoup_app', p.oid, 'execute')", "0")
	w.want("select r.rolname from pg_roles r where r.rolname in ('recoup_reader', 'recoup_writer', 'recoup_adopter') and has_any_column_privilege(r.oid, 'recoup.adoption_token', 'select')", "")
}
