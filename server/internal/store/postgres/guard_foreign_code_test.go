package postgres_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// runsInOtherSessions has a role run plpgsql of its own in the session of a superuser, by the
// expression of an index on its table, as autovacuum does: the session is the superuser's, and
// the current user is the role. What fails there is returned.
func runsInOtherSessions(t *testing.T, owner prompt, name, declare, body string) (failed string) {
	t.Helper()
	super := role(t, owner, "postgres")
	super.run("create schema if not exists " + name + " authorization " + name)
	role(t, owner, name).run(`set client_min_messages = warning;
		drop table if exists ` + name + `.bait;
		create table if not exists ` + name + `.ran (session text, role text, failed text);
		delete from ` + name + `.ran;
		create or replace function ` + name + `.act() returns void language plpgsql as $$ declare ` + declare + `
		begin
		  ` + body + `
		  insert into ` + name + `.ran values (session_user, current_user);
		exception when others then
		  insert into ` + name + `.ran values (session_user, current_user, sqlerrm);
		end $$;
		create or replace function ` + name + `.trap(i int) returns int language plpgsql immutable as $$
		begin
		  if session_user <> '` + name + `' then perform ` + name + `.act(); end if;
		  return i;
		end $$;
		create table ` + name + `.bait (i int);
		create index on ` + name + `.bait (` + name + `.trap(i));
		insert into ` + name + `.bait values (1)`)
	super.run("analyze " + name + ".bait")
	if got := ask[string](super, "select session || ' as ' || role from "+name+".ran"); got != "postgres as "+name {
		t.Fatalf("it ran in a session of %s", got)
	}
	return ask[string](super, "select coalesce(failed, '') from "+name+".ran")
}

// member makes a role that is a member of another.
func member(t *testing.T, owner prompt, prefix, of string) string {
	t.Helper()
	name := prefix + "_" + owner.Config().Database
	owner.run("create role " + name + " login in role " + of)
	return name
}

// A reader's own code reads no more in another role's session than in the reader's: neither in that of
// a superuser, by an index or a materialized view, nor in a function that runs as another role.
func TestRowSecurityHoldsForeignSessions(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	d := conformance.NewDriver(t, s)
	for _, table := range []string{dol, people} {
		d.Report(table, "e1", "NETWORK_TIMEOUT", recoup.Medium)
		d.Archive(d.Report(table, "e2", "NETWORK_TIMEOUT", recoup.Medium).ID)
	}
	owner.run("select recoup.enable_row_security()")
	name := member(t, owner, "planter", "recoup_reader")
	owner.run("select recoup.allow_read('" + name + "', 'hub', 'DOL Filings')")
	super, reader := role(t, owner, "postgres"), role(t, owner, name)
	super.run("grant select on recoup.error, recoup.error_archive to " + name) // grants of its own: the policies hold
	super.run("create schema " + name + " authorization " + name)
	const sum = `select concat_ws(' ', (select count(*) from recoup.error), (select count(*) from recoup.error_archive), (select count(*) from recoup.error_table),
		(select count(*) from outreach.dol_errors), (select count(*) from people.people_errors), (select count(*) from people.people_errors_archive),
		(select count(*) from recoup.error_history), (select count(*) from recoup.error_event))`
	want := ask[string](reader, sum)
	if want != "1 1 1 1 0 0 3 0" {
		t.Errorf("the reader reads %s", want)
	}
	reader.run("create table " + name + ".loot (what text)")
	if failed := runsInOtherSessions(t, owner, name, "", "insert into "+name+".loot "+sum+";"); failed != "" {
		t.Error(failed)
	}
	if got := ask[string](super, "select what from "+name+".loot"); got != want {
		t.Errorf("in the superuser's session the reader's code reads %s, want %s", got, want)
	}
	reader.run("create materialized view " + name + ".copy as " + sum + " as what with no data")
	super.run("refresh materialized view " + name + ".copy")
	if got := ask[string](super, "select what from "+name+".copy"); got != want {
		t.Errorf("a materialized view that the superuser refreshes reads %s, want %s", got, want)
	}

	// A function that runs as another role reads for members of that role only.
	reader.run("create function " + name + ".sum() returns text language sql security definer as $$ " + sum + " $$")
	stranger, colleague := member(t, owner, "stranger", "recoup_reader"), member(t, owner, "colleague", "recoup_reader")
	reader.run("grant usage on schema " + name + " to " + stranger + ", " + colleague + ", recoup_app")
	super.run("grant " + name + " to " + colleague)
	for who, want := range map[string]string{stranger: "0 0 0 0 0 0 0 0", "recoup_app": "0 0 0 0 0 0 0 0", colleague: want, name: want, "postgres": want} {
		if got := ask[string](role(t, owner, who), "select "+name+".sum()"); got != want {
			t.Errorf("%s calls a function of the reader: %s, want %s", who, got, want)
		}
	}

	// Roles without limits read all rows, also after SET ROLE.
	const views = "select concat_ws(' ', (select count(*) from outreach.dol_errors), (select count(*) from people.people_errors))"
	writer := member(t, owner, "pipeline", "recoup_writer")
	super.run("grant " + writer + " to " + stranger)
	for _, who := range []string{"postgres", "recoup_owner", "recoup_app", "recoup_writer", writer} {
		if got := ask[string](role(t, owner, who), views); got != "1 1" {
			t.Errorf("%s reads %s", who, got)
		}
	}
	for who, row := range map[string][2]string{
		"postgres": {name, "1 0"}, colleague: {name, "1 0"}, stranger: {writer, "1 1"},
	} {
		p := role(t, owner, who)
		p.run("set role " + row[0])
		if got := ask[string](p, views); got != row[1] {
			t.Errorf("%s as %s reads %s, want %s", who, row[0], got, row[1])
		}
	}
}

// A pipeline's code is no node in another role's session: it promotes in its own name, and holds no more gates.
func TestPromotionsInForeignSessions(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	name := member(t, owner, "promoter", "recoup_writer")
	failed := runsInOtherSessions(t, owner, name, "", "perform recoup.promote('forged', 'x', 'ceo@example.com');")
	if got := ask[string](owner, "select string_agg(promoted_by, ',') from recoup.promotion where entity_id = 'forged'"); failed != "" || !strings.HasPrefix(got, name+" (session of ") {
		t.Errorf("promoted by %s: %s", got, failed)
	}
	failed = runsInOtherSessions(t, owner, name, "n int;", "for n in 1..300 loop perform recoup.promote('p' || n, 'x'); end loop;")
	if !strings.Contains(failed, "32 of 256 gates") {
		t.Errorf("300 promotions: %q", failed)
	}
	failed = runsInOtherSessions(t, owner, name, "", "insert into outreach.dol_errors (outreach_id, code) select 'i' || i, 'X' from generate_series(1, 300) i;")
	if !strings.Contains(failed, "32 of 256 gates") {
		t.Errorf("300 errors: %q", failed)
	}
	failed = runsInOtherSessions(t, owner, name, "", "perform recoup.promote_for('forged', 'x', 'ceo@example.com');")
	if !strings.Contains(failed, "permission denied") {
		t.Errorf("the function of nodes: %q", failed)
	}
	failed = runsInOtherSessions(t, owner, name, "", "perform recoup.pass_gate('forged', 'x', 'ceo@example.com', null, gen_random_uuid(), false);")
	if !strings.Contains(failed, "permission denied") {
		t.Errorf("the function behind both: %q", failed)
	}
}

// A promotion by plain SQL is recorded for the role of the session, also after SET ROLE, or for the
// role whose function the session calls, with the role of the session.
func TestPromotedBy(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	name, other := member(t, owner, "promoter", "recoup_writer"), member(t, owner, "other", "recoup_writer")
	writer := role(t, owner, name)
	role(t, owner, "postgres").run("create schema " + other + " authorization " + other)
	role(t, owner, other).run("create function " + other + ".pass() returns void language sql security definer as $$ select recoup.promote('definer', 'x', 'ceo') $$; grant usage on schema " + other + " to " + name)
	writer.run("select recoup.promote('direct', 'x', 'ceo')")
	writer.run("insert into recoup.promoting (entity, phase) values ('view', 'x')")
	writer.run("select " + other + ".pass()")
	writer.run("set role recoup_writer")
	writer.run("select recoup.promote('role', 'x')")
	writer.run("reset role")
	writer.run("set role recoup_writer; create function pg_temp.pass() returns void language sql security definer as $$ select recoup.promote('group', 'x') $$; reset role; select pg_temp.pass()")
	if got := writer.sqlState("insert into recoup.promoting (entity, phase, actor) values ('view', 'x', 'ceo')"); got != privilege {
		t.Errorf("an actor in the view: %s", got)
	}
	role(t, owner, "postgres").run("insert into recoup.promoting (entity, phase, actor) values ('super', 'x', 'ceo')")
	owner.run("select recoup.promote('owner', 'x', 'ceo')")
	for entity, want := range map[string]string{"direct": name, "view": name, "role": name, "definer": other + " (session of " + name + ")",
		"group": "recoup_writer (session of " + name + ")", "super": "postgres", "owner": "recoup_owner"} {
		if got := ask[string](owner, "select promoted_by from recoup.promotion where entity_id = $1", entity); got != want {
			t.Errorf("%s: promoted by %s, want %s", entity, got, want)
		}
	}
	for _, sql := range []string{"select recoup.promote('e', 'x')", "insert into recoup.promoting (entity, phase) values ('e', 'x')"} {
		if got := role(t, owner, "recoup_reader").sqlState(sql); got != privilege {
			t.Errorf("a reader: %s: %s", sql, got)
		}
	}
}
