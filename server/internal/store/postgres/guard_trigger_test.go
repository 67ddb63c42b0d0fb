package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// bait makes a temporary table that looks like the recoveries of Gate Zero, but for the type of
// its first column: a cast of that type to uuid is code of the role that made it.
const bait = `
	create type pg_temp.evil as (x int);
	create function pg_temp.run(pg_temp.evil) returns uuid language plpgsql as $$ begin raise exception 'ran as %', current_user; end $$;
	create cast (pg_temp.evil as uuid) with function pg_temp.run(pg_temp.evil) as implicit;
	create temporary table bait (intake_id pg_temp.evil, recovery_id uuid, batch_id text, status text, failure_reason text,
		attempt_count int, updated_at timestamptz, at timestamptz);`

// No role but the owner can attach a trigger function of Recoup to a table of its own: there
// it would run casts of that role as the owner.
func TestTriggerFunctionsAreNobodys(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	stranger := "outsider_" + owner.Config().Database
	owner.run("create role " + stranger + " login")
	owner.run("grant usage on schema recoup, cl to " + stranger)
	functions := column[string](owner, triggerFunctions)
	if len(functions) < 40 {
		t.Fatalf("found only %d trigger functions", len(functions))
	}
	for _, name := range []string{stranger, "recoup_reader", "recoup_writer", "recoup_app"} {
		attacker := role(t, owner, name)
		script(t, attacker.Conn, bait)
		for _, f := range functions {
			if got := attacker.sqlState("create trigger t before insert on bait for each row execute function " + f); got != privilege {
				t.Errorf("%s can attach %s: %s", name, f, got)
			}
		}
		_, err := attacker.Exec(t.Context(), `create trigger t after insert on bait for each row execute function cl.recovery_told();
			insert into bait values (row(1)::pg_temp.evil)`, pgx.QueryExecModeSimpleProtocol)
		var server *pgconn.PgError
		if !errors.As(err, &server) || server.Code != privilege {
			t.Errorf("%s: the attack ended with %v", name, err)
		}
	}
}

// A trigger function that runs as the owner refuses any table but its own, also where a
// privilege was granted by mistake.
func TestTriggerFunctionsRefuseOtherTables(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	owner.run("grant execute on function cl.recovery_told() to recoup_reader")
	reader := role(t, owner, "recoup_reader")
	script(t, reader.Conn, bait)
	script(t, reader.Conn, "create trigger t after insert on bait for each row execute function cl.recovery_told()")
	if got := reader.refusal("insert into bait values (row(1)::pg_temp.evil)"); !strings.Contains(got, "only for its own tables") {
		t.Errorf("refused with %q", got)
	}
	for _, trigger := range column[string](owner, definerTriggers) {
		part := strings.Split(trigger, "|") // table, function, timing and event, transition tables, level
		table, function, level := part[0], part[1], part[4]
		for event := range strings.SplitSeq(part[2], " or ") {
			script(t, owner.Conn, "create temporary table other as select * from "+table+" with no data; insert into other default values")
			script(t, owner.Conn, fmt.Sprintf("create trigger t after %s on other %s for each %s execute function %s", event, part[3], level, function))
			column := column[string](owner, "select attname from pg_attribute where attrelid = 'other'::regclass and attnum = 1")[0]
			act := map[string]string{"insert": "insert into other default values", "update": "update other set " + column + " = null", "delete": "delete from other"}[event]
			if got := owner.refusal(act); !strings.Contains(got, "only for its own tables") {
				t.Errorf("%s on another table is refused with %q", function, got)
			}
			owner.run("drop table other")
		}
	}
}

// triggerFunctions lists what returns trigger in the schemas of Recoup.
const triggerFunctions = `select oid::regprocedure::text from pg_proc
	where prorettype = 'trigger'::regtype and pronamespace in ('recoup'::regnamespace, 'cl'::regnamespace) order by 1`

// definerTriggers lists the triggers whose functions run as the owner.
const definerTriggers = `select concat_ws('|', t.tgrelid::regclass, t.tgfoid::regprocedure,
		concat_ws(' or ', case when tgtype & 4 > 0 then 'insert' end, case when tgtype & 8 > 0 then 'delete' end, case when tgtype & 16 > 0 then 'update' end),
		coalesce('referencing ' || nullif(concat_ws(' ', 'old table as ' || tgoldtable, 'new table as ' || tgnewtable), ''), ''),
		case when tgtype & 1 > 0 then 'row' else 'statement' end)
	from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_class c on c.oid = t.tgrelid
	where p.prosecdef and not t.tgisinternal and not c.relispartition and c.relnamespace in ('recoup'::regnamespace, 'cl'::regnamespace) order by 1`

// column returns the first column of what a query finds.
func column[T any](p prompt, sql string) []T {
	p.Helper()
	rows, err := p.Query(p.Context(), sql)
	must(p, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[T])
	must(p, err)
	return list
}

// A function that a migration has just made is withheld from every role until it is granted.
func TestNewFunctionsAreWithheld(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	owner.run("create function cl.fresh() returns trigger language plpgsql security definer as 'begin return null; end'")
	owner.run("create function recoup.fresh() returns int language sql security definer as 'select 1'")
	owner.run("select recoup.withhold_functions()")
	for _, name := range []string{"recoup_reader", "recoup_writer", "recoup_app"} {
		for _, function := range []string{"cl.fresh()", "recoup.fresh()"} {
			if ask[bool](owner, "select has_function_privilege('"+name+"', '"+function+"', 'execute')") {
				t.Errorf("%s may execute %s", name, function)
			}
		}
	}
	if !ask[bool](role(t, owner, "recoup_reader"), "select recoup.clock() is not null") {
		t.Error("a function that was granted is withheld too")
	}
}
