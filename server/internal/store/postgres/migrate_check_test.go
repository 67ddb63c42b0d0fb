package postgres_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// What is in the way of migrations is listed, all of it with a way out, and the database is
// as it was; once it is gone, they are applied.
func TestMigrateChecksFirst(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		makes, drops string
		want         []string
	}{
		"tables and functions in cl": {
			`create schema cl; create table cl.gate_zero_batch (id int); create table cl.mine (id int); create sequence cl.gate_zero_air;
			 create function cl.refuse(int) returns int language sql as 'select 1'; create table cl.t (id int); create index gate_zero_air_batch_idx on cl.t (id)`,
			`drop table cl.gate_zero_batch, cl.t; drop sequence cl.gate_zero_air; drop function cl.refuse(int)`,
			[]string{"table cl.gate_zero_batch ", "sequence cl.gate_zero_air ", "function cl.refuse ", "index cl.gate_zero_air_batch_idx ", "rename it"},
		},
		"somebody's schema recoup": {
			`create schema recoup; create table recoup.orders (id serial); create type recoup.mood as enum ('a'); create table recoup.schema_version (id int)`,
			`drop schema recoup cascade`,
			[]string{"table recoup.orders ", "type recoup.mood ", "table recoup.schema_version ", "alter schema recoup rename to"},
		},
		"tables of Gate Zero that are not the specification's": {
			`create schema cl; create schema cl_before; create table cl.gate_zero_recovery (recovery_id bigint, intake_id uuid)`,
			`drop table cl.gate_zero_recovery; drop schema cl_before`,
			[]string{"table cl.gate_zero_recovery ", "has a column recovery_id of type bigint, not uuid", "has no column attempt_count", "schema cl_before "},
		},
		"a recovery without intakes": {
			`create schema cl; ` + legacyRecovery, `drop table cl.gate_zero_recovery`, []string{"without cl.gate_zero_intake"},
		},
		"default privileges": {
			`create role DB_outsider; alter default privileges grant all on tables to DB_outsider; create schema cl; alter default privileges in schema cl grant select on sequences to DB_outsider;
			 alter default privileges grant select on tables to public; alter default privileges grant select on tables to pg_monitor; alter default privileges grant execute on functions to DB_outsider;
			 alter default privileges in schema public grant select on tables to DB_outsider`,
			`alter default privileges for role recoup_owner revoke all on tables from DB_outsider; alter default privileges for role recoup_owner in schema cl revoke all on sequences from DB_outsider;
			 alter default privileges for role recoup_owner revoke all on tables from public; alter default privileges for role recoup_owner revoke all on tables from pg_monitor;
			 alter default privileges for role recoup_owner revoke all on functions from DB_outsider`,
			[]string{"default privileges on tables (owner recoup_owner): they grant it to DB_outsider; run alter default privileges for role recoup_owner revoke all on tables from DB_outsider",
				"run alter default privileges for role recoup_owner in schema cl revoke all on sequences from DB_outsider", "revoke all on tables from public", "revoke all on tables from pg_monitor",
				"revoke all on functions from DB_outsider"},
		},
		"a view": {`create schema cl; create view cl.gate_zero_intake as select 1 as id`, `drop view cl.gate_zero_intake`, []string{"view cl.gate_zero_intake ", "only a plain table"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := pgtest.New(t)
			owner := at(t, address)
			named := strings.NewReplacer("DB", owner.Config().Database)
			row.makes, row.drops = named.Replace(row.makes), named.Replace(row.drops)
			owner.run(row.makes)
			before := pgtest.Dump(t, address)
			err := postgres.Migrate(t.Context(), address)
			if refused, ok := errors.AsType[*postgres.ObstacleError](err); !ok || len(refused.Obstacles) == 0 {
				t.Fatalf("it said %v", err)
			}
			for _, want := range row.want {
				if want = named.Replace(want); !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if after := pgtest.Dump(t, address); withoutNonces(after) != withoutNonces(before) {
				t.Errorf("it said %v, and the database was changed", err)
			}
			owner.run(row.drops)
			must(t, postgres.Migrate(t.Context(), address))
			open(t, address)
			if strings.Contains(row.makes, "cl.mine") && ask[bool](owner, "select has_table_privilege('recoup_app', 'cl.mine', 'select')") {
				t.Error("nodes were given somebody else's table")
			}
		})
	}
}

// withoutNonces leaves out the lines of a dump that are new every time.
func withoutNonces(dump string) string {
	var lines []string
	for line := range strings.Lines(dump) {
		if !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// A schema cl and tables of Gate Zero that belong to another role are refused before the first
// change, whatever that role has granted.
func TestMigrateIntoSomebodysSchema(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	super := at(t, as(t, server.New(t), "postgres", ""))
	super.run("create role humble login; create role mallory login; create role recoup_app login; grant mallory to humble")
	super.run("create database humble owner humble")
	super = at(t, as(t, super.Config().ConnString(), "postgres", "/humble"))
	super.run("create schema cl authorization mallory; " + legacyIntake + "alter table cl.gate_zero_intake owner to mallory; grant usage, create on schema cl to humble with grant option")
	address := as(t, super.Config().ConnString(), "humble", "/humble")
	err := postgres.Migrate(t.Context(), address)
	if err == nil || !strings.Contains(err.Error(), "schema cl (owner mallory): it must belong to humble") || !strings.Contains(err.Error(), "table cl.gate_zero_intake (owner mallory): to be taken over, it must belong to humble") ||
		!strings.Contains(err.Error(), "alter table cl.gate_zero_intake owner to humble") || strings.Contains(err.Error(), "grant") || ask[int](super, "select count(*) from pg_namespace where nspname = 'recoup'") != 0 {
		t.Fatalf("it said %v", err)
	}
	super.run("alter schema cl owner to humble; alter table cl.gate_zero_intake owner to humble; revoke create on database humble from humble")
	if err := postgres.Migrate(t.Context(), address); err == nil {
		t.Error("it made a schema without the right to")
	}
	super.run("grant create on database humble to humble")
	must(t, postgres.Migrate(t.Context(), address))
	open(t, as(t, address, "recoup_app", ""))
}

// TestSchemaOfAnotherRole refuses a schema recoup that another role made before, to every user, and
// runs nothing that the role has put there.
func TestSchemaOfAnotherRole(t *testing.T) {
	t.Parallel()
	const spy = `create function recoup.spy() returns trigger language plpgsql as $$ begin raise log 'planted code ran as %', current_user; return new; end $$;
		create function recoup.spied() returns bool language plpgsql as $$ begin raise log 'planted code ran as %', current_user; return false; end $$;`
	server := pgtest.Start(t, pgtest.Options{})
	at(t, as(t, server.New(t), "postgres", "")).run("create role mallory login; grant mallory to recoup_owner")
	const version = "create table recoup.schema_version (id int primary key generated by default as identity, version_id bigint not null, is_applied boolean not null, tstamp timestamp default now());"
	for name, makes := range map[string]string{
		"an empty schema":     "",
		"a trigger":           spy + version + "create trigger spy before insert on recoup.schema_version for each row execute function recoup.spy();",
		"a view":              spy + "create view recoup.schema_version as select 1::bigint as version_id, true as is_applied, now()::timestamp as tstamp where recoup.spied();",
		"a default":           spy + "create table recoup.schema_version (version_id bigint, is_applied boolean default recoup.spied(), tstamp timestamp);",
		"an index expression": "create function recoup.folded(int) returns int immutable language plpgsql as $$ begin raise log 'planted code ran as %', current_user; return $1; end $$;" + version + "create index on recoup.schema_version ((version_id + recoup.folded(1)));",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := server.New(t)
			super := at(t, as(t, address, "postgres", ""))
			super.run("create schema recoup authorization mallory; grant all on schema recoup to recoup_owner")
			if makes != "" {
				at(t, as(t, address, "mallory", "")).run(makes + "grant all on all tables in schema recoup to recoup_owner")
			}
			for _, user := range []string{"postgres", "recoup_owner"} {
				err := postgres.Migrate(t.Context(), as(t, address, user, ""))
				if refused, ok := errors.AsType[*postgres.ObstacleError](err); !ok || refused.Obstacles[0].Kind != "schema" || !strings.Contains(err.Error(), "schema recoup (owner mallory): it must belong to "+user) {
					t.Errorf("as %s it said %v", user, err)
				}
				if _, err := postgres.Status(t.Context(), as(t, address, user, ""), ""); err == nil || !strings.Contains(err.Error(), "the schema recoup belongs to mallory, and "+user+" has rights that mallory lacks") {
					t.Errorf("as %s the status says %v", user, err)
				}
				if _, err := postgres.Open(t.Context(), as(t, address, user, ""), postgres.Options{}); err == nil || !strings.Contains(err.Error(), "connect as mallory") {
					t.Errorf("as %s it was opened: %v", user, err)
				}
			}
			// Creating the index runs the function as mallory; the subtests share the server's log.
			if log := server.Log(t); strings.Contains(log, "planted code ran as postgres") || strings.Contains(log, "planted code ran as recoup_owner") {
				t.Error(log)
			}
			super.run("drop schema recoup cascade")
			must(t, postgres.Migrate(t.Context(), address))
		})
	}
}

// TestMembershipsOfNodes makes the role of nodes a member of a role with more rights. Before PostgreSQL
// 15 that role can do so itself, which keeps no node from starting. A membership that an administrator
// has granted does, and the error names the statement that revokes it.
func TestMembershipsOfNodes(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	address, node := server.Migrated(t)
	super := at(t, as(t, address, "postgres", ""))
	super.run("create role ops login replication; create role team; grant pg_signal_backend to ops")
	if ask[int](super, "select current_setting('server_version_num')::int") < 150000 {
		ops := at(t, as(t, address, "ops", ""))
		ops.run("grant ops to recoup_app")
		open(t, node)
		ops.run("grant ops to team")
		super.run("revoke ops from recoup_app; grant team to recoup_app")
		open(t, node)
		super.run("revoke team from recoup_app; revoke ops from team")
	}
	super.run("grant postgres to recoup_app") // by the granted role itself, which is a superuser
	if _, err := postgres.Open(t.Context(), node, postgres.Options{}); err == nil || !strings.Contains(err.Error(), "REVOKE postgres FROM recoup_app") {
		t.Errorf("as a member of a superuser it said %v", err)
	}
	super.run("revoke postgres from recoup_app; grant ops to recoup_app")
	_, err := postgres.Open(t.Context(), node, postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), "recoup_owner lacks (REPLICATION") || !strings.HasSuffix(err.Error(), "If recoup_app does not need the memberships, run REVOKE ops FROM recoup_app as an administrator") {
		t.Errorf("it said %v", err)
	}
}

// TestMigrateAsTheWrongUser migrates a database that another role has installed: the refusal names
// that role, and advises no change of what is in its schemas.
func TestMigrateAsTheWrongUser(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t, pgtest.Options{}).New(t)
	must(t, postgres.Migrate(t.Context(), address))
	err := postgres.Migrate(t.Context(), as(t, address, "postgres", ""))
	refused, ok := errors.AsType[*postgres.ObstacleError](err)
	if !ok || len(refused.Obstacles) != 1 || !strings.Contains(err.Error(), "Run recoup migrate up as recoup_owner") || strings.Contains(err.Error(), "schema_version") || strings.Contains(err.Error(), "schema cl") {
		t.Errorf("it said %v", err)
	}
	must(t, postgres.Migrate(t.Context(), address))
}

// TestMigrateWithAnotherRole migrates a database whose owner has set a role for all sessions. The
// schemas belong to the user who is logged in, and a schema of that role is refused. Settings that
// change how statements are read have no effect.
func TestMigrateWithAnotherRole(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	at(t, as(t, server.New(t), "postgres", "")).run("create role mallory login; grant mallory to recoup_owner")
	for _, user := range []string{"postgres", "recoup_owner"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			address := server.New(t)
			super := at(t, as(t, address, "postgres", ""))
			for _, setting := range []string{"role = mallory", "search_path = public, pg_catalog", "standard_conforming_strings = off", "quote_all_identifiers = on", "client_encoding = LATIN1", "datestyle = German"} {
				at(t, address).run("set role none; do $$ begin execute pg_catalog.format('alter database %I set " + setting + "', pg_catalog.current_database()); end $$")
			}
			super.run("create schema recoup authorization mallory")
			for _, role := range []string{"none", "mallory"} {
				super.run("do $$ begin execute pg_catalog.format('alter database %I set role = " + role + "', pg_catalog.current_database()); end $$")
				err := postgres.Migrate(t.Context(), as(t, address, user, ""))
				if _, ok := errors.AsType[*postgres.ObstacleError](err); !ok || !strings.Contains(err.Error(), "schema recoup (owner mallory): it must belong to "+user) {
					t.Errorf("with the role %s it said %v", role, err)
				}
			}
			super.run("drop schema recoup")
			must(t, postgres.Migrate(t.Context(), as(t, address, user, "")))
			if owners := ask[string](super, "select string_agg(distinct pg_get_userbyid(nspowner)::text, ', ') from pg_namespace where nspname in ('recoup', 'cl')"); owners != user {
				t.Errorf("the schemas belong to %s", owners)
			}
			facts, err := pgtest.OpenURL(t, as(t, address, user, "")).Inspect(t.Context(), store.Inspection{})
			must(t, err)
			text, err := os.ReadFile("schema.manifest")
			must(t, err)
			if got := manifest(facts.Present); got != string(text) {
				t.Error("the schema differs from the manifest")
			}
		})
	}
}

// TestVersionTableOfOthers refuses tables of versions and locks that belong to another role, or have
// something on them that runs code, in a schema of the role that migrates.
func TestVersionTableOfOthers(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	at(t, server.New(t)).run("create role mallory login")
	for name, row := range map[string]struct{ makes, want string }{
		"an owner":     {"alter table recoup.schema_lock owner to mallory", "table recoup.schema_lock (owner mallory): it must belong to postgres"},
		"a trigger":    {"create function public.spy() returns trigger language plpgsql as 'begin return new; end'; create trigger spy before insert on recoup.schema_version execute function public.spy()", "it has the trigger spy"},
		"a rule":       {"create rule quiet as on insert to recoup.schema_version do also nothing", "it has the rule quiet"},
		"row security": {"alter table recoup.schema_version enable row level security", "it has row security"},
		"a type":       {"create domain public.note as text; alter table recoup.schema_version add note public.note", "its column note has the type public.note"},
		"a check":      {"create function public.good(bigint) returns bool language sql as 'select true'; alter table recoup.schema_version add constraint good check (public.good(version_id))", "its constraint good uses the function public.good(bigint)"},
		"a child":      {"create table public.child () inherits (recoup.schema_version)", "it inherits, or is inherited from"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := as(t, server.New(t), "postgres", "")
			super := at(t, address)
			must(t, postgres.Migrate(t.Context(), address))
			super.run(row.makes)
			if err := postgres.Migrate(t.Context(), address); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("it said %v", err)
			}
		})
	}
}

// A migration that fails halfway leaves nothing behind, and the next attempt goes on from
// what was there before it.
func TestMigrationIsOneTransaction(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	address := server.New(t)
	super := at(t, as(t, address, "postgres", ""))
	super.run(`create function public.stumble() returns event_trigger language plpgsql as $$
		begin
		  if exists (select from pg_event_trigger_ddl_commands() where object_identity = 'cl.gate_zero_lease') then raise exception 'stumbled'; end if;
		end $$;
		create event trigger stumble on ddl_command_end execute function public.stumble()`)
	if err := postgres.Migrate(t.Context(), address); err == nil || !strings.Contains(err.Error(), "stumbled") {
		t.Fatalf("it said %v", err)
	}
	if ask[bool](super, "select exists (select from pg_namespace where nspname = 'cl')") {
		t.Error("half of a migration is there")
	}
	if last := ask[string](super, "select (select max(version_id) from recoup.schema_version) || ' ' || (select max(version) from recoup.schema_checksum)"); last != "10 10" {
		t.Errorf("applied are %s", last)
	}
	super.run("drop event trigger stumble")
	must(t, postgres.Migrate(t.Context(), address))
	open(t, address)
}
