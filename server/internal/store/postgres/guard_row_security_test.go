package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// With row security on, a role that is neither the owner nor a node reads the
// events of its services and the errors of its hubs, and nodes work as before.
func TestRowSecurity(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, s := session(t, ownerURL), open(t, appURL)
	d, b := conformance.NewDriver(t, s), conformance.NewBookkeeper(t, s)
	for _, service := range []string{"billing", "search", "search", "mail"} {
		b.Add(b.Event(service, "NETWORK_TIMEOUT", conformance.Epoch()))
	}
	d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Archive(d.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium).ID)
	must(t, s.FoldRollups(t.Context()))
	b.Add(b.Event("mail", "NETWORK_TIMEOUT", conformance.Epoch()))
	analyst := thirdRole(t, owner, ownerURL)

	reading{events: 5, days: 3, deltas: 1, partition: 5, errors: 2, archived: 1, view: 1}.expect(t, analyst, "off by default")

	who := analyst.Config().User
	script(t, owner, "select recoup.enable_row_security()")
	reading{}.expect(t, analyst, "nothing is granted, nothing is read")
	allow := func(kind, name string) {
		t.Helper()
		script(t, owner, "select recoup.allow_read('"+who+"', '"+kind+"', '"+name+"')")
	}
	allow("service", "search")
	allow("service", "billing")
	reading{events: 3, days: 2}.expect(t, analyst, "two services")
	script(t, owner, "select recoup.forbid_read('"+who+"', 'service', 'search'), recoup.forbid_read('"+who+"', 'service', 'billing')")
	allow("service", "mail")
	for _, hub := range []string{"DOL Filings", "dol-filings"} {
		allow("hub", hub)
		reading{events: 2, days: 1, deltas: 1, errors: 1, archived: 1, view: 1}.expect(t, analyst, "one service and the hub "+hub)
		script(t, owner, "select recoup.forbid_read('"+who+"', 'hub', '"+hub+"')")
		reading{events: 2, days: 1, deltas: 1}.expect(t, analyst, "no hub, not through a view either")
	}
	cannotLift(t, prompt{t, analyst})
	reading{events: 2, days: 1, deltas: 1}.expect(t, analyst, "whatever it has tried")

	// Nodes see everything, and write: also events that were known, in months to
	// come, after a restart.
	must(t, s.SyncTables(t.Context(), policy.Default()))
	e := b.Event("mail", "NETWORK_TIMEOUT", conformance.Epoch().AddDate(0, 1, 0))
	b.Add(e, b.Event("search", "NETWORK_TIMEOUT", conformance.Epoch()))
	b.Add(e)
	b.Check(store.Span{From: store.Day(conformance.Epoch()), To: store.Day(conformance.Epoch()).Add(60 * 24 * time.Hour)})
	d.Report(dol, "e3", "NETWORK_TIMEOUT", recoup.Medium)
	d.Check()
	script(t, owner, "grant select on all tables in schema recoup to "+analyst.Config().User)
	script(t, owner, "revoke all on recoup.read_grant from "+who)
	reading{events: 3, days: 1, deltas: 2}.expect(t, analyst, "a new partition is closed, and a renewed view")

	script(t, owner, "select recoup.disable_row_security()")
	reading{events: 7, days: 3, deltas: 3, partition: 6, errors: 3, archived: 1, view: 2}.expect(t, analyst, "off again")
}

// The tables of the policy name every hub: a reader sees those of its own, nodes see all.
func TestRowSecurityOfTables(t *testing.T) {
	t.Parallel()
	s, owner, app := governed(t)
	const hubs = "select coalesce(string_agg(distinct hub, ','), '') from recoup.error_table"
	reader := role(t, owner, "recoup_reader")
	all := ask[string](reader, hubs)
	owner.run("insert into recoup.name_taken values ('x', '" + dol + "', 'table'), ('y', '" + people + "', 'table')")
	owner.run("select recoup.enable_row_security(); select recoup.allow_read('recoup_reader', 'hub', 'dol-filings')")
	if got := ask[string](reader, hubs); got != "dol-filings" || got == all {
		t.Errorf("a reader of one hub sees %s", got)
	}
	if n := ask[int](reader, "select count(*) from recoup.name_taken"); n != 1 {
		t.Errorf("a reader of one hub sees %d names", n)
	}
	must(t, s.SyncTables(t.Context(), policy.Default()))
	if got := ask[string](app, hubs); got != all {
		t.Errorf("a node sees %s", got)
	}
	role(t, owner, "recoup_writer").run("insert into outreach.dol_errors (outreach_id, code) values ('CO-1', 'X')")
	owner.run("select recoup.disable_row_security()")
	if got := ask[string](reader, hubs); got != all {
		t.Errorf("with row security off a reader sees %s", got)
	}
}

// cannotLift tries what a reader might to read more.
func cannotLift(t *testing.T, analyst prompt) {
	t.Helper()
	who := analyst.Config().User
	analyst.run("set recoup.services = 'search'; set recoup.hubs = 'DOL Filings,dol-filings'") // as it once was
	for _, sql := range []string{
		"select recoup.allow_read('" + who + "', 'hub', 'DOL Filings')",
		"insert into recoup.read_grant values ('" + who + "', 'hub', '*')",
		"select recoup.disable_row_security()", "alter table recoup.error disable row level security",
		"set role recoup_app", "set role recoup_owner", "set session authorization recoup_app",
		"alter view outreach.dol_errors set (security_invoker = false)",
		"create or replace function recoup.sees(governed text, who name) returns boolean language sql as 'select true'",
	} {
		if got := analyst.sqlState(sql); got != privilege {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// Grants are for roles and hubs that there are, and go for members of a role.
func TestReadGrants(t *testing.T) {
	t.Parallel()
	s, owner, app := governed(t)
	d := conformance.NewDriver(t, s)
	d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	team, member := "team_"+owner.Config().Database, "member_"+owner.Config().Database
	owner.run("create role " + team + " in role recoup_reader")
	owner.run("create role " + member + " login in role " + team)
	owner.run("select recoup.enable_row_security()")
	for sql, want := range map[string]string{
		"select recoup.allow_read('" + team + "', 'hub', 'DOL')":             `unknown hub 'DOL'; hubs are: company-target, dol-filings, people-intelligence, platform`,
		"select recoup.allow_read('nobody', 'hub', 'DOL Filings')":           "there is no role nobody",
		"select recoup.allow_read('" + team + "', 'pipeline', 'criticizer')": "kinds are: service, hub, gate_zero",
	} {
		if _, err := owner.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	owner.run("select recoup.allow_read('" + team + "', 'hub', 'DOL Filings')")
	reader := at(t, strings.Replace(owner.Config().ConnString(), owner.Config().User, member, 1))
	for sql, want := range map[string]int{
		"select count(*) from outreach.dol_errors": 1, "select count(*) from recoup.error_history": 1,
		"select count(*) from people.people_errors": 0,
	} {
		if got := ask[int](reader, sql); got != want {
			t.Errorf("%s: %d", sql, got)
		}
	}
	asksForItself(t, owner, reader, team)
	// A condition of the reader's own is not asked about rows that the view leaves out.
	reader.run(`set enable_indexscan = off; set enable_bitmapscan = off;
		create function pg_temp.peek(seen text) returns boolean language plpgsql cost 0.0001 as
		$$ begin if seen <> '` + dol + `' then raise exception 'sees %', seen; end if; return true; end $$`)
	if got := ask[int](reader, "select count(*) from outreach.dol_errors where pg_temp.peek(table_name)"); got != 1 {
		t.Errorf("a condition of the reader's own: %d", got)
	}
	app.run("insert into people.people_errors (outreach_id, code) values ('CO-1', 'NETWORK_TIMEOUT')")
}

// asksForItself tries to learn what others may read. What a role may read is shown to it
// and its members alone, also after it becomes another role, or calls a function of
// another.
func asksForItself(t *testing.T, owner, reader prompt, team string) {
	t.Helper()
	stranger := "stranger_" + owner.Config().Database
	owner.run("create role " + stranger + " login")
	owner.run("grant usage on schema recoup to " + stranger)
	other := role(t, owner, stranger)
	const mine = "select concat_ws(' ', recoup.granted('hub', current_user), cardinality(recoup.readable(current_user)), recoup.sees('" + dol + "', current_user))"
	for name, row := range map[string]struct {
		of   prompt
		want string
	}{"a member": {reader, "{dol-filings} 1 t"}, "a stranger": {other, "{} 0 f"}} {
		if got := ask[string](row.of, mine); got != row.want {
			t.Errorf("%s is told %q, want %q", name, got, row.want)
		}
	}
	reader.run("set role " + team)
	if got := ask[string](reader, mine); got != "{dol-filings} 1 t" {
		t.Errorf("as the team: %s", got)
	}
	reader.run("reset role")
	for who, p := range map[string]prompt{"of the team": other, "of the owner": other, "of nodes": reader, "of no role": other} {
		asked := map[string]string{"of the team": team, "of the owner": "recoup_owner", "of nodes": "recoup_app", "of no role": "nobody"}[who]
		if got := ask[string](p, strings.ReplaceAll(mine, "current_user", "'"+asked+"'")+" || recoup.sees_all('"+asked+"')"); got != "{} 0 ffalse" {
			t.Errorf("asking for the rights %s: %q", who, got)
		}
	}
	for _, sql := range []string{"select * from recoup.read_grant", "set role " + team, "set session authorization " + team} {
		if got := other.sqlState(sql); got != privilege {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// reading is how many rows a role reads.
type reading struct{ events, days, deltas, partition, errors, archived, view int }

func (r reading) expect(t *testing.T, conn *pgx.Conn, when string) {
	t.Helper()
	var got reading
	for table, n := range map[string]*int{
		"error_event": &got.events, "error_event_y2026m02": &got.partition, "error_aggregate_daily": &got.days,
		"error_aggregate_delta": &got.deltas, "error": &got.errors, "error_archive": &got.archived, dol: &got.view,
	} {
		must(t, conn.QueryRow(t.Context(), "select count(*) from "+table).Scan(n))
	}
	if got != r {
		t.Errorf("%s: reads %+v, want %+v", when, got, r)
	}
}

// thirdRole makes a role that may read what there is, and opens a session of it.
func thirdRole(t *testing.T, owner *pgx.Conn, ownerURL string) *pgx.Conn {
	t.Helper()
	name := "analyst_" + owner.Config().Database // roles belong to the server
	script(t, owner, `create role `+name+` login;
		grant usage on schema recoup, outreach to `+name+`;
		grant select on all tables in schema recoup to `+name+`;
		grant select on outreach.dol_errors to `+name)
	return session(t, strings.Replace(ownerURL, owner.Config().User, name, 1))
}

func script(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	must(t, err)
}

// TestAllowReadOfAmbiguousNames gives a hub the name that is the id of another, and two hubs the same name. A grant
// is for the hub of that id, and is refused for a name of several hubs.
func TestAllowReadOfAmbiguousNames(t *testing.T) {
	t.Parallel()
	ownerURL, _ := pgtest.Migrated(t)
	owner := session(t, ownerURL)
	reader := "twin_" + owner.Config().Database // roles belong to the server
	script(t, owner, `create role `+reader+`; insert into recoup.error_table (table_name, hub, hub_name, entity_column, dispositions, default_disposition, blocks, policy_version)
		select 'shop.' || t.name, t.hub, t.hub_name, 'id', '{RETRY}', 'RETRY', true, '1' from (values ('a', 'accounts', 'billing'), ('b', 'billing', 'Twins'), ('c', 'people', 'Twins')) t (name, hub, hub_name);
		select recoup.allow_read('`+reader+`', 'hub', 'billing')`)
	var granted string
	must(t, owner.QueryRow(t.Context(), "select name from recoup.read_grant where reader = $1", reader).Scan(&granted))
	if granted != "billing" {
		t.Errorf("the hub billing was allowed, and the grant is for %s", granted)
	}
	if _, err := owner.Exec(t.Context(), "select recoup.allow_read($1, 'hub', 'Twins')", reader); err == nil || !strings.Contains(err.Error(), "unknown hub 'Twins'") {
		t.Errorf("a name of two hubs: %v", err)
	}
}
