package adoption_test

import (
	"context"
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
)

// TestTablesOfNewOwners gives an adopted table, or a partition of one, to another role. That role sets traps and
// lets the owner before write the table. Nodes do not run the traps with the rights of the owner before.
func TestTablesOfNewOwners(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]struct{ ddl, given string }{
		"table": {"", "shop.failures"},
		"partition": {`drop table shop.failures; create table shop.failures (id bigint, order_id text, kind text, note text, level text, status text default 'open', at timestamptz default now(),
			primary key (id)) partition by range (id); create table shop.part partition of shop.failures for values from (0) to (1000)`, "shop.part"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec(table.ddl)
			w.adopt(mapping)
			w.settle()
			w.exec("do 'begin create role mallory; exception when duplicate_object or unique_violation then null; end'; grant mallory to recoup_owner; grant usage, create on schema shop to mallory")
			w.exec("do $d$ begin execute format('grant create on database %I to mallory', current_database()); end $d$")
			w.exec("alter table " + table.given + " owner to mallory; set role mallory; grant all on " + table.given + " to recoup_owner;" + intruder +
				"create trigger a before update on " + table.given + " for each row execute function trap.on_update(); reset role")
			w.exec("insert into shop.failures (id, order_id, kind, note, disposition) values (1, 'o1', 'TIMEOUT', 'x', 'PARKED')")
			for range 3 {
				if err := w.service.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), table.given+" belongs to mallory, whose code would run with the rights of recoup_owner") {
					t.Errorf("settled: %v", err)
				}
			}
			w.harmless()
			w.want("select * from trap.ran", "")
			facts, err := w.db.Inspect(t.Context(), store.Inspection{})
			w.Must(err)
			if !adoption.FactsOf(&facts)[0].Given {
				t.Error("the doctor is not told that another role owns it")
			}
		})
	}
}

// TestTriggersOfOtherRoles adopts a table of the schema's owner on which another role can create triggers. The plan
// refuses it until that right is revoked.
func TestTriggersOfOtherRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("do 'begin create role mallory; exception when duplicate_object or unique_violation then null; end'; grant usage on schema shop to mallory; grant all on shop.failures to mallory")
	plan := func() string {
		t.Helper()
		plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "outreach.dol_errors", Mapping: mapping})
		w.Must(err)
		return fmt.Sprint(plan.Refusals)
	}
	if refused := plan(); !strings.Contains(refused, "mallory may create triggers on shop.failures, which would run with the rights of recoup_owner") ||
		!strings.Contains(refused, "REVOKE TRIGGER ON shop.failures FROM mallory") {
		t.Errorf("refused: %s", refused)
	}
	w.exec("revoke trigger on shop.failures from mallory")
	if refused := plan(); refused != "[]" {
		t.Errorf("refused after the right was revoked: %s", refused)
	}
}

// foreign is code of mallory that a table of the schema's owner uses: how it got there, and what a plan says of it.
var foreign = map[string]struct{ as, ddl, after, refused string }{
	"cast of a type": {
		as:      "create type trap.kind as enum ('TIMEOUT'); grant usage on type trap.kind to public",
		ddl:     "alter table shop.failures alter kind type trap.kind using null",
		after:   "create function trap.as_text(trap.kind) returns text language plpgsql as $f$ begin perform trap.run('cast'); return 'TIMEOUT'; end $f$; create cast (trap.kind as text) with function trap.as_text(trap.kind) as assignment",
		refused: "the type trap.kind belongs to mallory, whose code would run with the rights of recoup_owner",
	},
	"cast that stays": {
		as:      "create type trap.kind as enum ('TIMEOUT'); create function trap.as_text(trap.kind) returns text language plpgsql as $f$ begin perform trap.run('cast'); return 'TIMEOUT'; end $f$; create cast (trap.kind as text) with function trap.as_text(trap.kind) as assignment",
		ddl:     "alter type trap.kind owner to recoup_owner; alter table shop.failures alter kind type trap.kind using null",
		refused: "the function trap.as_text(trap.kind) belongs to mallory, whose code would run with the rights of recoup_owner",
	},
	"check of a domain": {
		as:      "create function trap.fits(text) returns boolean language plpgsql as $f$ begin perform trap.run('check'); return true; end $f$; create domain trap.kind as text check (trap.fits(value)); grant usage on type trap.kind to public",
		ddl:     "alter domain trap.kind owner to recoup_owner; alter table shop.failures alter kind type trap.kind[] using null",
		refused: "the function trap.fits(text) belongs to mallory, whose code would run with the rights of recoup_owner",
	},
	"trigger": {
		ddl:     "grant trigger on shop.failures to mallory; set role mallory; create trigger a before update on shop.failures for each row execute function trap.on_update(); reset role; revoke trigger on shop.failures from mallory",
		refused: "the function trap.on_update() belongs to mallory, whose code would run with the rights of recoup_owner",
	},
	"column of the row type of a table": {
		as:      "create type trap.kind as enum ('TIMEOUT'); grant usage on type trap.kind to public",
		ddl:     "create table shop.pair (n int, k trap.kind); alter table shop.failures add pair shop.pair",
		refused: "the type trap.kind belongs to mallory, whose code would run with the rights of recoup_owner",
	},
	"column of a composite type": {
		as:      "create type trap.kind as enum ('TIMEOUT'); grant usage on type trap.kind to public",
		ddl:     "create type shop.pair as (n int, k trap.kind); alter table shop.failures add pair shop.pair[]",
		refused: "the type trap.kind belongs to mallory, whose code would run with the rights of recoup_owner",
	},
}

// TestCodeOfOtherRoles adopts a table of the schema's owner that uses code of another role. The plan refuses it
// before it reads a row, because that code would run with the rights of the table's owner.
func TestCodeOfOtherRoles(t *testing.T) {
	t.Parallel()
	for name, code := range foreign {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			intrude(w, code.as)
			w.exec(code.ddl)
			w.exec("insert into shop.failures (order_id, kind, note) select 'o1', null, 'x'; set role mallory;" + code.after + "; reset role")
			plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "outreach.dol_errors", Mapping: mapping})
			w.Must(err)
			if refused := fmt.Sprint(plan.Refusals); !strings.Contains(refused, code.refused) {
				t.Errorf("refused: %s", refused)
			}
			w.want("select * from trap.ran", "")
		})
	}
}

// intrude lets mallory, who has no rights of the schema's owner, create traps.
func intrude(w *world, more string) {
	w.Helper()
	w.exec("do 'begin create role mallory; exception when duplicate_object or unique_violation then null; end'; grant mallory to recoup_owner; grant usage on schema shop to mallory")
	w.exec("do $d$ begin execute format('grant create on database %I to mallory', current_database()); end $d$")
	w.exec("set role mallory;" + intruder + more + "; reset role; grant all on schema trap to recoup_owner")
}

// TestTriggersGrantedAfterAnAdoption lets another role create triggers on an adopted table of the schema's owner.
// Nodes do not run them with the rights of that owner, and the doctor prints the command that ends it.
func TestTriggersGrantedAfterAnAdoption(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.settle()
	intrude(w, "")
	w.exec("grant trigger on shop.failures to mallory; set role mallory; create trigger a before update on shop.failures for each row execute function trap.on_update(); reset role")
	w.exec("insert into shop.failures (id, order_id, kind, note, disposition) values (1, 'o1', 'TIMEOUT', 'x', 'PARKED')")
	const why = "mallory may create triggers on shop.failures, which would run with the rights of recoup_owner"
	if err := w.service.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("settled: %v", err)
	}
	w.want("select * from trap.ran", "")
	facts, err := w.db.Inspect(t.Context(), store.Inspection{})
	w.Must(err)
	if a := adoption.FactsOf(&facts)[0]; !strings.Contains(a.Foreign, why) || a.ForeignWay != "run REVOKE TRIGGER ON shop.failures FROM mallory" {
		t.Errorf("the doctor is told %q, %q", a.Foreign, a.ForeignWay)
	}
	w.exec("revoke trigger on shop.failures from mallory")
	if err := w.service.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "the function trap.on_update() belongs to mallory") {
		t.Errorf("settled with the trigger: %v", err)
	}
	w.want("select * from trap.ran", "")
	w.exec("drop trigger a on shop.failures")
	w.settle()
	w.want("select disposition from shop.failures", "RETRY")
}

// TestTheNameOfAnAdoptedTable drops or renames an adopted table. Another role creates one of that name and sets
// traps. Nodes do not run them with the rights of the owner of the adopted table.
func TestTheNameOfAnAdoptedTable(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{
		"dropped": "drop table shop.failures cascade",
		"renamed": "alter table shop.failures rename to faults",
	} {
		for kind, take := range map[string]string{
			"table": "create table shop.failures (id bigint primary key, order_id text, kind text, note text, level text, status text, at timestamptz, disposition text, archived_at timestamptz)",
			"view": "create table trap.failures (id bigint primary key, order_id text, kind text, note text, level text, status text, at timestamptz, disposition text, archived_at timestamptz); " +
				"grant all on trap.failures to public; create view shop.failures as select * from trap.failures",
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.exec("insert into shop.failures (id, order_id, kind, note) values (1, 'o1', 'TIMEOUT', 'x')")
				w.adopt(mapping)
				w.settle()
				intrude(w, "")
				w.exec("grant create on schema shop to mallory; " + leave + "; set role mallory; " + take + `; grant all on shop.failures to public; insert into shop.failures values (1, 'o1', 'TIMEOUT', 'y');
					create trigger a before update on ` + map[string]string{"table": "shop", "view": "trap"}[kind] + ".failures for each row execute function trap.on_update(); reset role")
				w.exec("insert into recoup.adopted_mirror (adoption_id, error_id) select adoption_id, error_id from recoup.adopted_row; insert into recoup.adopted_change (adoption_id, numbers) values (1, '{1}')")
				if err := w.service.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "the table is gone, or belongs to another role") {
					t.Errorf("settled: %v", err)
				}
				w.want("select * from trap.ran", "")
			})
		}
	}
}

// TestSchemasOfOtherRoles adopts a table of the schema's owner in a schema of another role, who could exchange it.
func TestSchemasOfOtherRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	intrude(w, "")
	w.exec("grant create on schema shop to recoup_owner; alter schema shop owner to mallory; grant all on schema shop to recoup_owner")
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "outreach.dol_errors", Mapping: mapping})
	w.Must(err)
	if refused := fmt.Sprint(plan.Refusals); !strings.Contains(refused, "the schema shop belongs to mallory, who can drop tables of recoup_owner in it") {
		t.Errorf("refused: %s", refused)
	}
}

// TestCodeOfOtherRolesForWriters adopts a table with code of another role that only its writers run.
func TestCodeOfOtherRolesForWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	intrude(w, `create function trap.note() returns text language sql as $f$ select 'x' $f$; grant execute on all functions in schema trap to recoup_owner`)
	w.exec(`alter table shop.failures alter note set default trap.note(); grant trigger on shop.failures to mallory; set role mallory;
		create trigger a before insert on shop.failures for each row execute function trap.on_update(); create trigger b before update on shop.failures for each row execute function trap.on_update();
		reset role; alter table shop.failures disable trigger b; revoke trigger on shop.failures from mallory`)
	w.adopt(mapping)
	w.settle()
}

// keep gives the table to a role that is not powerful, in a schema of mallory, and adopts it. It returns a
// connection of mallory.
func keep(t *testing.T) (*world, *pgx.Conn) {
	t.Helper()
	server := pgtest.Start(t, pgtest.Options{})
	db, url := node.PostgresAt(t, server)
	w := newWorldOn(t, db, url)
	intrude(w, "")
	w.exec(`create role keeper; grant keeper to recoup_owner; grant usage on schema shop, recoup to keeper; grant create on schema shop to keeper; alter table shop.failures owner to keeper; revoke create on schema shop from keeper;
		alter role mallory login; grant create on schema shop to recoup_owner; alter schema shop owner to mallory; grant usage on schema shop to public;
		insert into shop.failures (id, order_id, kind, note) values (1, 'o1', 'TIMEOUT', 'x')`)
	w.adopt(mapping)
	w.settle()
	mallory, err := pgx.Connect(t.Context(), strings.Replace(w.url, "recoup_owner@", "mallory@", 1))
	w.Must(err)
	t.Cleanup(func() { _ = mallory.Close(context.Background()) })
	return w, mallory
}

// trapFailures is a table with traps that has the name of the adopted one.
const trapFailures = `create table shop.failures (id bigint primary key, order_id text, kind text, note text, level text, status text, at timestamptz, disposition text, archived_at timestamptz);
	grant all on shop.failures to public; insert into shop.failures values (1, 'o1', 'TIMEOUT', 'y');
	create trigger a before update on shop.failures for each row execute function trap.on_update();`

// TestTableIsExchangedWhileNodesWait has the owner of a schema exchange an adopted table in it for another while a
// node waits for its lock. The functions of the adoption do not go on with the other table.
func TestTableIsExchangedWhileNodesWait(t *testing.T) {
	t.Parallel()
	w, mallory := keep(t)
	run := func(sql string) {
		t.Helper()
		_, err := mallory.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		w.Must(err)
	}
	w.exec("insert into recoup.adopted_mirror (adoption_id, error_id) select adoption_id, error_id from recoup.adopted_row")
	run("begin; drop table shop.failures cascade; " + trapFailures)
	settled := make(chan error, 1)
	go func() { settled <- w.service.Settle(context.WithoutCancel(t.Context())) }()
	for w.ask("select count(*) from pg_locks where not granted and locktype = 'relation'") == "0" {
		select {
		case err := <-settled:
			t.Fatalf("settled before the exchange: %v", err)
		default:
			w.Must(retry.Sleep(t.Context(), time.Millisecond))
		}
	}
	run("commit")
	err := <-settled
	t.Log(err)
	w.want("select * from trap.ran", "")
	if err == nil {
		t.Error("settled with another table")
	}
}

// TestMembersWithoutRights makes another role a member of the owner of a table, without the right to use or to take its
// rights. Code of that role is refused as that of any other. PostgreSQL 15 has no such members.
func TestMembersWithoutRights(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	db, url := node.PostgresAt(t, server)
	w := newWorldOn(t, db, url)
	intrude(w, "create type trap.kind as enum ('TIMEOUT'); grant usage on type trap.kind to public")
	w.exec("alter table shop.failures alter kind type trap.kind using null")
	grant, refused := "grant recoup_owner to outsider with inherit false, set false", true
	if w.ask("select current_setting('server_version_num')::int < 160000") == "true" {
		grant, refused = "grant recoup_owner to outsider", false
	}
	admin, err := pgx.Connect(t.Context(), strings.Replace(w.url, "recoup_owner@", "postgres@", 1))
	w.Must(err)
	defer func() { _ = admin.Close(context.WithoutCancel(t.Context())) }()
	_, err = admin.Exec(t.Context(), "create role outsider; alter type trap.kind owner to outsider; "+grant, pgx.QueryExecModeSimpleProtocol)
	w.Must(err)
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "outreach.dol_errors", Mapping: mapping})
	w.Must(err)
	if strings.Contains(fmt.Sprint(plan.Refusals), "the type trap.kind belongs to outsider") != refused {
		t.Errorf("refused: %s", plan.Refusals)
	}
}

// TestPowerfulOwners adopts a table of a role that has more rights than its table gives it. Code of other roles is
// refused there as well.
func TestPowerfulOwners(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	db, url := node.PostgresAt(t, server)
	w := newWorldOn(t, db, url)
	intrude(w, "create type trap.kind as enum ('TIMEOUT'); grant usage on type trap.kind to public")
	w.exec("create role keeper; grant keeper to recoup_owner; grant all on schema shop to keeper; alter table shop.failures owner to keeper; alter table shop.failures alter kind type trap.kind using null")
	for _, rights := range []struct{ give, take string }{
		{"select", ""},
		{"grant pg_execute_server_program to keeper", "revoke pg_execute_server_program from keeper"},
		{"grant pg_read_server_files to keeper", "revoke pg_read_server_files from keeper"},
		{"grant recoup_app to keeper", "revoke recoup_app from keeper"},
		{"alter role keeper replication", "alter role keeper noreplication"},
	} {
		server.Admin(t, rights.give)
		plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "outreach.dol_errors", Mapping: mapping})
		w.Must(err)
		if strings.Contains(fmt.Sprint(plan.Refusals), "the type trap.kind belongs to mallory") != (rights.take != "") {
			t.Errorf("%s: refused: %s", rights.give, plan.Refusals)
		}
		if rights.take != "" {
			server.Admin(t, rights.take)
		}
	}
}
