package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// notAdopted lists the names that something else has, as "name kind owner".
func notAdopted(t *testing.T, s *postgres.Store) (list []string) {
	t.Helper()
	names, err := s.TableNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < len(policy.Default().Tables()) {
		t.Errorf("there are %d names", len(names))
	}
	for _, n := range names {
		if !n.Adopted() {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", n.Name, n.Kind, n.Owner)))
		}
	}
	return list
}

// Whatever has a name of the policy keeps it, is said to have it, and stops nothing: the
// other tables have their views. Once it is gone, the next sync makes the view.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ kind, name, makes, drops string }{
		{"table", dol, "create table outreach.dol_errors (id int)", "drop table outreach.dol_errors"},
		{"partitioned table", dol, "create table outreach.dol_errors (id int) partition by range (id)", "drop table outreach.dol_errors"},
		{"view", dol, "create view outreach.dol_errors as select 7 as id", "drop view outreach.dol_errors"},
		{"materialized view", dol, "create materialized view outreach.dol_errors as select 7 as id", "drop materialized view outreach.dol_errors"},
		{"materialized view", dol, "create materialized view outreach.dol_errors as select * from recoup.error", "drop materialized view outreach.dol_errors"},
		{"sequence", dol, "create sequence outreach.dol_errors", "drop sequence outreach.dol_errors"},
		{"index", dol, "create table outreach.t (id int); create index dol_errors on outreach.t (id)", "drop table outreach.t"},
		{"type", dol, "create type outreach.dol_errors as (id int)", "drop type outreach.dol_errors"},
		{"type", dol, "create type outreach.dol_errors as enum ('a')", "drop type outreach.dol_errors"},
		{"table", dol + "_archive", "create table outreach.dol_errors_archive (id int)", "drop table outreach.dol_errors_archive"},
	} {
		const identity = `select max(oid)::text from (select oid, relname as name from pg_class union all select oid, typname from pg_type) i where name = split_part($1, '.', 2)`
		t.Run(row.kind, func(t *testing.T) {
			t.Parallel()
			ownerURL, appURL := pgtest.Migrated(t)
			owner, s, app := at(t, ownerURL), open(t, appURL), at(t, appURL)
			owner.run("create schema outreach; " + row.makes)
			before := ask[string](owner, identity, row.name)
			must(t, s.SyncTables(t.Context(), policy.Default()))
			if ask[string](owner, identity, row.name) != before {
				t.Error("it was touched")
			}
			who := ask[string](owner, "select current_user")
			if got, want := notAdopted(t, s), []string{row.name + " " + row.kind + " " + who}; !slices.Equal(got, want) {
				t.Errorf("not adopted: %q, want %q", got, want)
			}
			kept := ask[string](app, "select string_agg(concat_ws(' ', name, table_name, kind, owner), ', ') from recoup.name_taken")
			if kept != row.name+" "+dol+" "+row.kind+" "+who {
				t.Errorf("kept as %s", kept)
			}
			app.run("insert into people.people_errors (outreach_id, code) values ('E', 'X')")
			owner.run(row.drops)
			if names := notAdopted(t, s); len(names) != 1 || names[0] != row.name+" "+row.kind {
				t.Errorf("gone, and not noticed: %q", names)
			}
			must(t, s.SyncTables(t.Context(), policy.Default()))
			if got := notAdopted(t, s); len(got) != 0 || ask[int](app, "select count(*) from recoup.name_taken") != 0 {
				t.Errorf("still not adopted: %q", got)
			}
			app.run("insert into outreach.dol_errors (outreach_id, code) values ('E', 'X')")
			ask[int](app, "select count(*) from outreach.dol_errors_archive")
		})
	}
}

// Errors of a table whose name is taken are governed all the same, and nodes are given
// nothing of what has it.
func TestNameTakenIsGoverned(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, s := at(t, ownerURL), open(t, appURL)
	owner.run("create schema outreach; create table outreach.dol_errors (id int); insert into outreach.dol_errors values (7)")
	must(t, s.SyncTables(t.Context(), policy.Default()))
	at(t, appURL).run("insert into recoup.error (table_name, entity_id, code, disposition, blocking, expires_at) values ($1, 'E', 'X', 'RETRY', true, now() + interval '30 days')", dol)
	if !ask[bool](owner, "select recoup.is_blocked('E')") {
		t.Error("it does not block")
	}
	if ask[bool](owner, "select has_table_privilege('recoup_app', 'outreach.dol_errors', 'select')") || ask[int](owner, "select id from outreach.dol_errors") != 7 {
		t.Error("somebody else's table was touched")
	}
	owner.run("select recoup.enable_row_security()")
}

// A schema in which the owner of ours may not create is in the way of its names alone,
// and so is a view on our table that somebody else has made.
func TestNameInSomebodysSchema(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	super := at(t, as(t, server.New(t), "postgres", ""))
	super.run("create role humble login; create role somebody login; create role recoup_app login")
	super.run("create database humble owner humble")
	address := as(t, super.Config().ConnString(), "humble", "/humble")
	super = at(t, as(t, super.Config().ConnString(), super.Config().User, "/humble"))
	must(t, postgres.Migrate(t.Context(), address))
	super.run(`create schema outreach authorization somebody; create schema people;
		grant all on schema people to humble; grant usage on schema recoup to somebody; grant select on recoup.error to somebody;
		create view people.people_errors as select * from recoup.error; alter view people.people_errors owner to somebody;
		create foreign data wrapper w; create server s foreign data wrapper w; create foreign table people.people_errors_archive (id int) server s;
		revoke create on database humble from humble; alter database humble owner to somebody`)
	s := open(t, as(t, address, "recoup_app", ""))
	must(t, s.SyncTables(t.Context(), policy.Default()))
	got := notAdopted(t, s)
	for _, want := range []string{"outreach.dol_errors schema somebody", "people.people_errors view somebody", "people.people_errors_archive foreign table " + super.Config().User, "company.url_discovery_failures missing schema somebody"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	super.run("alter schema outreach owner to humble; drop view people.people_errors; drop foreign table people.people_errors_archive; alter database humble owner to humble; grant create on database humble to humble")
	must(t, s.SyncTables(t.Context(), policy.Default()))
	if got := notAdopted(t, s); len(got) != 0 {
		t.Errorf("not adopted: %q", got)
	}
}

// A view on our table that has other columns is nobody's to replace.
func TestNameOfAHandMadeView(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, s := at(t, ownerURL), open(t, appURL)
	owner.run("create schema outreach; create view outreach.dol_errors as select code, 1 as one from recoup.error")
	must(t, s.SyncTables(t.Context(), policy.Default()))
	names, err := s.TableNames(t.Context())
	taken := slices.DeleteFunc(names, func(n wire.TableName) bool { return n.Adopted() })
	if err != nil || len(taken) != 1 || taken[0].Name != dol || taken[0].Standing != wire.NameTaken {
		t.Errorf("taken are %+v, %v", taken, err)
	}
	owner.run("drop view outreach.dol_errors")
	must(t, s.SyncTables(t.Context(), policy.Default()))
	if got := notAdopted(t, s); len(got) != 0 {
		t.Errorf("not adopted: %q", got)
	}
}

// Nodes that start at once while somebody makes and drops a table of that name all
// start, and what is left is one or the other, whole.
func TestNameTakenDuringSync(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner := at(t, ownerURL)
	owner.run("create schema outreach")
	var nodes sync.WaitGroup
	for range 3 {
		s := open(t, appURL)
		nodes.Go(func() {
			for range 3 {
				if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if _, err := owner.Exec(t.Context(), "create table outreach.dol_errors (id int)"); err == nil {
			owner.run("drop table outreach.dol_errors")
		}
	}
	nodes.Wait()
	s := open(t, appURL)
	must(t, s.SyncTables(t.Context(), policy.Default()))
	if got := notAdopted(t, s); len(got) != 0 {
		t.Errorf("not adopted: %q", got)
	}
}
