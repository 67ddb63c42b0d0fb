package define_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// traps are places where code of a table's owner runs when its rows are read or written.
// Each calls shop.trap(), which tries to become the superuser who adopts the table. What it does
// to sequences stays when a transaction is rolled back.
var traps = map[string]struct {
	ddl     string
	mapping wire.Mapping
}{
	"cast of an enum": {ddl: `create type shop.level as enum ('fatal', 'meh');
		create function shop.level_text(shop.level) returns text language plpgsql as $f$ begin perform shop.trap(); return 'x'; end $f$;
		create cast (shop.level as text) with function shop.level_text(shop.level) as assignment;
		create table shop.failures (id int primary key, order_id text, code shop.level); insert into shop.failures values (1, 'a', 'fatal')`},
	"immutable function in a condition": {ddl: `create function shop.always(int) returns boolean language plpgsql immutable as $f$ begin perform shop.trap(); return true; end $f$;
		create table shop.failures (id int primary key, order_id text); insert into shop.failures values (1, 'a')`,
		mapping: wire.Mapping{GovernedWhen: "shop.always(1) and shop.always(id)"}},
	"check of a domain": {ddl: `create function shop.fits(text) returns boolean language plpgsql as $f$ begin perform shop.trap(); return true; end $f$;
		create domain shop.short as text check (shop.fits(value)); create table shop.failures (id int primary key, order_id shop.short); insert into shop.failures values (1, 'a')`,
		mapping: wire.Mapping{ResolvedWhen: "order_id = 'x'::shop.short"}},
	"trigger, when a key is filled": {ddl: `create function shop.on_update() returns trigger language plpgsql as $f$ begin perform shop.trap(); return new; end $f$;
		create function shop.at_commit() returns trigger language plpgsql as $f$ begin perform shop.trap(); return null; end $f$;
		create table shop.failures (order_id text); insert into shop.failures values ('a'); create trigger a before update on shop.failures for each row execute function shop.on_update();
		create constraint trigger b after update on shop.failures deferrable initially deferred for each row execute function shop.at_commit()`},
	"generated column": {ddl: `create function shop.made(text) returns text language plpgsql immutable as $f$ begin perform shop.trap(); return 'x'; end $f$;
		create table shop.failures (order_id text, code text generated always as (shop.made(order_id)) stored); insert into shop.failures values ('a')`},
}

// TestAdoptRunsNothingAsAdministrator plans and does adoptions as a superuser. The owner's code
// tries to come to the rights of that superuser, and does not.
func TestAdoptRunsNothingAsAdministrator(t *testing.T) {
	t.Parallel()
	for name, trap := range traps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ddl := `create sequence shop.ran; create sequence shop.escaped; grant usage on schema shop to public; grant all on shop.ran, shop.escaped to public;
				create function shop.trap() returns void language plpgsql as $f$ begin
					perform nextval('shop.ran');
					begin execute 'reset role'; exception when others then null; end;
					begin execute 'set role postgres'; exception when others then null; end;
					begin execute 'reset session authorization'; exception when others then null; end;
					if (select rolsuper from pg_roles where rolname = current_user) then perform nextval('shop.escaped'); end if;
				end $f$;` + trap.ddl
			w := newWorld(t, ddl)
			admin := connect(t, strings.Replace(w.url, "recoup_owner@", "postgres@", 1))
			plan, err := define.MakePlan(t.Context(), admin, define.Request{Source: "shop.failures", As: "shop.errors", Mapping: trap.mapping, SchemaOwner: "recoup_owner"})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Refusals) == 0 {
				runner := w.runner()
				runner.Conn = admin
				if err := runner.Apply(t.Context(), plan); err != nil {
					t.Fatal(err)
				}
			}
			if got := ask(t, w.owner, "select (select is_called from shop.ran) as ran, (select is_called from shop.escaped) as escaped"); got != `{"ran":true,"escaped":false}` {
				t.Errorf("the trap: %s", got)
			}
		})
	}
}

// TestReleasedRoleCannotLogIn has the owner of a table grant something to the role of the
// adoption, so that it cannot be dropped. It stays without login and password.
func TestReleasedRoleCannotLogIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text); create table shop.held (n int)")
	w.adopt("shop.failures", wire.Mapping{})
	role := one(t, w, "select role from recoup.adoption_login")
	w.as("grant select on shop.held to " + role)
	var notes []string
	runner := w.runner()
	runner.Report = func(p define.Progress) { notes = append(notes, p.Note) }
	if _, err := runner.Release(t.Context(), "shop.failures"); err != nil {
		t.Fatal(err)
	}
	admin := connect(t, strings.Replace(w.url, "recoup_owner@", "postgres@", 1))
	if got := ask(t, admin, "select rolcanlogin, rolpassword from pg_authid where rolname = '"+role+"'"); got != `{"rolcanlogin":false,"rolpassword":null}` {
		t.Errorf("the role: %s", got)
	}
	if said := fmt.Sprint(notes); !strings.Contains(said, "The role "+role+" stays, without rights and without login") {
		t.Errorf("reported: %s", said)
	}
}

// TestReleaseOfMovedObjects has the owner of a table move, rename and use what the adoption has
// created. The release names what uses it, and drops the rest wherever it is.
func TestReleaseOfMovedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	before := w.dump()
	w.adopt("shop.failures", wire.Mapping{})
	w.as("create view shop.dep as select * from recoup.adopted_1_recoup_release_first")
	_, err := w.runner().Release(t.Context(), "shop.failures")
	if err == nil || !strings.Contains(err.Error(), "something of yours uses the view recoup.adopted_1_recoup_release_first: view shop.dep depends on") {
		t.Errorf("with a view: %v", err)
	}
	w.as("drop view shop.dep")
	if _, err := w.runner().Release(t.Context(), "shop.failures"); err != nil {
		t.Fatal(err)
	}
	w.adopt("shop.failures", wire.Mapping{})
	w.as(`alter function recoup.adopted_2_read(text[]) set schema shop; alter function recoup.adopted_2_insert() set schema shop;
		alter function shop.adopted_2_read(text[]) rename to mine; alter view recoup.adopted_2_recoup_release_first set schema shop`)
	forgotten, err := w.runner().Release(t.Context(), "shop.failures")
	if err != nil || !forgotten {
		t.Fatal(forgotten, err)
	}
	if after := w.dump(); after != before {
		t.Errorf("after the release:\n%s", difference(before, after))
	}
}

// TestReleaseBesideAProcedure has the owner of a table create a procedure with the body of one of
// the adoption's functions. The release leaves it alone.
func TestReleaseBesideAProcedure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	w.adopt("shop.failures", wire.Mapping{})
	w.as(`set check_function_bodies = off; do $d$ begin execute format('create procedure shop.p() language plpgsql as %L',
		(select prosrc from pg_proc where proname = 'adopted_1_insert')); end $d$; reset check_function_bodies`)
	forgotten, err := w.runner().Release(t.Context(), "shop.failures")
	if err != nil || !forgotten {
		t.Fatal(forgotten, err)
	}
	if got := ask(t, w.owner, "select proname from pg_proc where pronamespace = 'shop'::regnamespace"); got != `{"proname":"p"}` {
		t.Errorf("left: %s", got)
	}
}
