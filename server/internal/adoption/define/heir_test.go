package define_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// heirs are ways in which the new owner of a table that has the triggers of an adoption tries to run code in them,
// with the rights of the owner before. HEIR is the new owner.
var heirs = map[string]struct{ ddl, give, attack string }{
	"column of another type, in a partition that was detached": {
		"create table shop.failures (id int primary key, order_id text, note text) partition by range (id); create table shop.a partition of shop.failures for values from (0) to (100)",
		"alter table shop.failures detach partition shop.a; alter table shop.a owner to HEIR",
		"alter table shop.a alter order_id type heir.kind using null; insert into shop.a values (1, 'x'); update shop.a set id = 2; delete from shop.a",
	},
	"column of the name of one that was renamed": {
		"create table shop.failures (id int primary key, order_id text, note text)",
		"alter table shop.failures owner to HEIR",
		"alter table shop.failures rename order_id to was; alter table shop.failures add order_id heir.kind; insert into shop.failures (id, order_id) values (1, 'x'); update shop.failures set id = 2; delete from shop.failures",
	},
	"type that was given too": {
		"create type shop.kind as enum ('x'); create table shop.failures (id int primary key, order_id shop.kind, note text)",
		"alter table shop.failures owner to HEIR; alter type shop.kind owner to HEIR",
		"create function heir.of_kind(shop.kind) returns text language sql as 'select heir.run(1)'; create cast (shop.kind as text) with function heir.of_kind(shop.kind) as assignment; insert into shop.failures (id, order_id) values (1, 'x'); update shop.failures set id = 2; delete from shop.failures",
	},
	"key of another type, in a partition that was detached": {
		"create table shop.failures (id int primary key, order_id text, note text) partition by range (id); create table shop.a partition of shop.failures for values from (0) to (100)",
		"alter table shop.failures detach partition shop.a; alter table shop.a owner to HEIR",
		"alter table shop.a drop id; alter table shop.a add id heir.kind; insert into shop.a (id) values ('x'); update shop.a set note = 'y'; delete from shop.a",
	},
}

// TestHeirsRunNothingAsTheOwnerBefore gives a table with the triggers of an adoption to another role.
func TestHeirsRunNothingAsTheOwnerBefore(t *testing.T) {
	t.Parallel()
	for name, c := range heirs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.ddl)
			heir := w.role + "_heir"
			w.exec(fmt.Sprintf("create role %[1]s; grant %[1]s to recoup_owner; create schema heir authorization %[1]s; grant usage on schema shop to %[1]s; grant create on schema shop to %[1]s; create table heir.ran (who name); grant insert on heir.ran to public; grant usage on schema heir to public", heir))
			w.adopt("shop.failures", wire.Mapping{Entity: "order_id", Message: "note"})
			w.exec(strings.ReplaceAll(c.give, "HEIR", heir))
			w.exec("set role " + heir + `; create type heir.kind as enum ('x');
				create function heir.note() returns void language plpgsql as $f$ begin insert into heir.ran values (current_user); end $f$;
				create function heir.run(int) returns text language plpgsql immutable as $f$ begin perform heir.note(); return 'x'; end $f$;
				create function heir.as_text(heir.kind) returns text language sql immutable as 'select heir.run(1)';
				create cast (heir.kind as text) with function heir.as_text(heir.kind) as assignment;
				create function heir.as_bigint(heir.kind) returns bigint language sql immutable as 'select length(heir.run(2))';
				create cast (heir.kind as bigint) with function heir.as_bigint(heir.kind) as assignment;
				reset role`)
			for _, sql := range strings.Split(c.attack, "; ") {
				w.exec("set role " + heir)
				if _, err := w.owner.Exec(t.Context(), sql); err != nil {
					t.Errorf("%s: %v", sql, err)
				}
				w.exec("reset role")
			}
			if got := ask(t, w.owner, "select who, count(*) from heir.ran group by 1"); got != "" {
				t.Errorf("code of the new owner ran as %s", got)
			}
		})
	}
}

// TestHeirsRunNothingBehindAnOldSnapshot gives an adopted table to another role, which has a transaction open whose snapshot is older
// than that, and changes a column in another one.
func TestHeirsRunNothingBehindAnOldSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	heir := w.role + "_heir"
	w.exec(fmt.Sprintf(`create role %[1]s; grant %[1]s to recoup_owner; create schema heir authorization %[1]s; grant usage on schema shop to %[1]s; grant create on schema shop to %[1]s; create sequence heir.ran; grant all on heir.ran to public;
		grant usage on schema heir to public; set role %[1]s; create type heir.kind as enum ('x'); create function heir.run(int) returns text language plpgsql immutable as $f$ begin if current_user = '%[2]s' then perform nextval('heir.ran'); end if; return 'x'; end $f$;
		create function heir.as_text(heir.kind) returns text language sql immutable as 'select heir.run(1)'; create cast (heir.kind as text) with function heir.as_text(heir.kind) as assignment; reset role`, heir, w.role))
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id"})
	old := connect(t, w.url)
	run := func(sql string) {
		t.Helper()
		if _, err := old.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	run("begin isolation level repeatable read")
	run("set local role " + heir)
	run("select from pg_class")
	w.exec("alter table shop.failures owner to " + heir + "; set role " + heir + "; alter table shop.failures rename order_id to was; alter table shop.failures add order_id heir.kind; reset role")
	run("insert into shop.failures (id, order_id) values (1, 'x')")
	run("update shop.failures set id = 2")
	run("delete from shop.failures")
	run("rollback")
	if got := ask(t, w.owner, "select is_called from heir.ran"); got != `{"is_called":false}` {
		t.Errorf("code of the new owner ran with the rights of the owner before: %s", got)
	}
}

// TestHeirsPoliciesAreNotReadByReplication gives an adopted table to another role, which creates a policy. Rows that arrive by
// logical replication do not run its functions with the rights of the owner before.
func TestHeirsPoliciesAreNotReadByReplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	heir := w.role + "_heir"
	w.exec(fmt.Sprintf("create role %[1]s; grant %[1]s to recoup_owner; create schema heir authorization %[1]s; grant usage on schema shop to %[1]s; grant create on schema shop to %[1]s; create table heir.ran (who name); grant insert on heir.ran to public; grant usage on schema heir to public", heir))
	w.adopt("shop.failures", wire.Mapping{Entity: "order_id"})
	w.exec("alter table shop.failures owner to " + heir + "; set role " + heir + `;
		create function heir.note() returns void language plpgsql as $f$ begin insert into heir.ran values (current_user); end $f$;
		create function heir.run(int) returns boolean language plpgsql immutable as $f$ begin perform heir.note(); return true; end $f$;
		create policy p on shop.failures using (heir.run(1)); alter table shop.failures enable row level security; alter table shop.failures rename order_id to thing; grant all on shop.failures to public; reset role`)
	admin := connect(t, strings.Replace(w.url, "recoup_owner@", "postgres@", 1))
	for _, sql := range []string{"set session_replication_role = replica", "insert into shop.failures (id, thing) values (1, 'x')", "update shop.failures set thing = 'y'", "delete from shop.failures"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if got := ask(t, w.owner, "select who, count(*) from heir.ran group by 1"); got != "" {
		t.Errorf("code of the new owner ran as %s", got)
	}
}
