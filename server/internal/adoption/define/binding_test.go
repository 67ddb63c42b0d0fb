package define_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// victim is a table with columns that have the names of those that adoptions add.
const victim = "(id int primary key, order_id text, disposition text, archived_at text)"

// rebindings are ways in which the owner of an adopted table tries to have the adoption taken for that
// of a table of another owner. Attack is run by the owner of the adopted table, then after by the owner
// of the other one.
var rebindings = map[string]struct{ attack, after, victim string }{
	"view of the same name": {"drop table shop.failures cascade; create view recoup.adopted_1_source as select 'public.jobs'::regclass as source", "", "public.jobs"},
	"rule of the view":      {`create or replace rule "_RETURN" as on select to recoup.adopted_1_recoup_release_first do instead select id, order_id from public.jobs`, "", "public.jobs"},
	"rule over two tables": {`create or replace rule "_RETURN" as on select to recoup.adopted_1_recoup_release_first do instead select j.id, j.order_id from public.jobs j cross join shop.failures`,
		"", "public.jobs"},
	"view moved, name vacated": {"alter view recoup.adopted_1_recoup_release_first set schema shop; alter table shop.failures rename to elsewhere", "create table shop.failures " + victim, "shop.failures"},
	"view dropped, name vacated": {"drop view recoup.adopted_1_recoup_release_first cascade; alter table shop.failures rename to elsewhere",
		"create table shop.failures " + victim, "shop.failures"},
	"table dropped": {"drop table shop.failures cascade", "create table shop.failures " + victim, "shop.failures"},
	"table dropped, another renamed": {"drop table shop.failures cascade", "alter table public.jobs rename to failures; alter table public.failures set schema shop",
		"shop.failures"},
}

// TestOwnerCannotRebindTheAdoption has the owner of an adopted table change its view and names. No
// command takes a table of another owner for the one that was adopted.
func TestOwnerCannotRebindTheAdoption(t *testing.T) {
	t.Parallel()
	for name, c := range rebindings {
		for _, owner := range []string{"postgres", "recoup_owner"} {
			t.Run(name+", of "+owner, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
				w.adopt("shop.failures", wire.Mapping{Entity: "order_id"})
				admin := connect(t, strings.Replace(w.url, "recoup_owner@", owner+"@", 1))
				other := func(sql string) {
					t.Helper()
					if _, err := admin.Exec(t.Context(), sql); err != nil {
						t.Fatalf("%s: %v", sql, err)
					}
				}
				w.exec("grant create on schema public to recoup_owner; grant create on schema recoup to " + w.role) // more than an owner of tables has
				other("create table public.jobs " + victim)
				w.as(c.attack)
				other(c.after)
				other("insert into " + c.victim + " values (1, 'a', 'mine', 'mine')")

				runner := w.runner()
				runner.Conn, runner.SchemaOwner = admin, "recoup_owner"
				plan, err := define.MakePlan(t.Context(), admin, define.Request{Source: c.victim, SchemaOwner: "recoup_owner"})
				if err != nil {
					t.Fatal(err)
				}
				if plan.Adopted != nil {
					t.Errorf("%s passes for the adopted table", c.victim)
					if err := runner.Apply(t.Context(), plan); err != nil {
						t.Error(err)
					}
				}
				if err := runner.Remake(t.Context(), c.victim); !errors.Is(err, define.ErrNotAdopted) {
					t.Errorf("remade: %v", err)
				}
				if got := ask(t, w.owner, "select t.tgrelid::regclass, p.proname from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid where p.proowner <> c.relowner and not t.tgisinternal"); got != "" {
					t.Errorf("triggers that run code of another owner: %s", got)
				}
				_, err = runner.Release(t.Context(), c.victim)
				if c.victim != "shop.failures" && !errors.Is(err, define.ErrNotAdopted) || c.victim == "shop.failures" && err != nil {
					t.Errorf("released by the name of the other table: %v", err)
				}
				if _, err := runner.Release(t.Context(), "shop.failures"); err != nil && !errors.Is(err, define.ErrNotAdopted) {
					t.Error(err)
				}
				if got, want := ask(t, admin, "select * from "+c.victim), `{"id":1,"order_id":"a","disposition":"mine","archived_at":"mine"}`; got != want {
					t.Errorf("the other table has %s, want %s", got, want)
				}
				if got := ask(t, w.owner, "select p.proname from pg_proc p where p.proname ~ '^adopted_[0-9]' union all select tgname from pg_trigger where tgname ~ '^adopted_[0-9]'"); got != "" {
					t.Errorf("left after the release: %s", got)
				}
			})
		}
	}
}

// TestAdoptionOfATableThatWasGiven gives an adopted table to another owner. Nothing of the adoption is
// made anew with the rights of the new owner, and a release leaves columns that may be that owner's.
func TestAdoptionOfATableThatWasGiven(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id"})
	w.exec("alter table shop.failures owner to recoup_owner")
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures"})
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprint(plan.Refusals); len(plan.Steps) > 0 || !strings.Contains(said, "belongs to recoup_owner and was adopted as a table of "+w.role) || !strings.Contains(said, "recoup adopt release shop.failures") {
		t.Errorf("planned %d steps, refused: %s", len(plan.Steps), said)
	}
	if err := w.runner().Remake(t.Context(), "shop.failures"); !errors.Is(err, define.ErrRefused) {
		t.Errorf("remade: %v", err)
	}
	if err := w.runner().RepairRole(t.Context(), "shop.failures"); !errors.Is(err, define.ErrRefused) {
		t.Errorf("role repaired: %v", err)
	}
	var notes []string
	runner := w.runner()
	runner.Report = func(p define.Progress) { notes = append(notes, p.Note) }
	if _, err := runner.Release(t.Context(), "shop.failures"); err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprint(notes); !strings.Contains(said, `run ALTER TABLE shop.failures drop column if exists disposition, drop column if exists archived_at`) {
		t.Errorf("reported: %s", said)
	}
	if got := ask(t, w.owner, "select attname from pg_attribute where attrelid = 'shop.failures'::regclass and attname = 'disposition'"); got == "" {
		t.Error("a column of the new owner was dropped")
	}
	w.exec("alter table shop.failures drop column disposition, drop column archived_at; alter schema shop owner to recoup_owner")
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id"})
}

// TestSeveralAdoptionsOfOneTable binds two adoptions to one table. Which of them is meant is not guessed:
// a release finds it by the name under which it was adopted.
func TestSeveralAdoptionsOfOneTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text); create table shop.others (id int primary key, order_id text)")
	w.exec(`insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, ttl, blocks, policy_version)
		values ('shop.second', 'shop', 'order_id', '{RETRY,PARKED,ARCHIVE,RESOLVED}', 'RETRY', '30 days', true, '1.0.0')`)
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id"})
	w.adoptAs("shop.second", "shop.others", wire.Mapping{Entity: "order_id"})
	w.exec("drop view recoup.adopted_1_source; alter table shop.failures rename to gone; alter table shop.others rename to failures")
	_, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures"})
	if err == nil || !strings.Contains(err.Error(), "adoptions 1 (shop.failures) and 2 (shop.others)") {
		t.Errorf("planned: %v", err)
	}
	for _, source := range []string{"shop.failures", "shop.others"} {
		if _, err := w.runner().Release(t.Context(), source); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
	if got := ask(t, w.owner, "select adoption_id from recoup.adoption union all select count(*) from pg_trigger where tgname ~ '^adopted_[0-9]' having count(*) > 0"); got != "" {
		t.Errorf("left: %s", got)
	}
}
