package define_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestConditions shows which conditions of an owner are taken, and that nothing is done
// about those that are not.
func TestConditions(t *testing.T) {
	w := newWorld(t, `create type shop.mood as enum ('good', 'bad');
		create function shop.twice(n int) returns int language sql immutable as 'select n * 2';
		create table shop.failures (id int primary key, order_id text, status text, n int, mood shop.mood, at timestamptz)`)
	before := w.dump()
	for condition, refused := range map[string]string{
		"status = 'done'":                     "",
		"status in ('a;b', '--')":             "",
		"mood = 'good' -- for me":             "",
		"shop.twice(n) > 4":                   "",
		"n / 2 = 1 or status is null":         "",
		"count(*) > 1":                        "aggregate",
		"exists (select from shop.failures)":  "subquery",
		"at < now()":                          "more than the row",
		"random() > 0.5":                      "more than the row",
		"n = $1":                              "parameter",
		"n":                                   "boolean",
		"nothing = 1":                         "does not exist",
		"true); drop table shop.failures; --": "expected one SQL condition",
		"true) stored, other int generated always as (1": "syntax error",
		"true /*": "comment",
		"true) stored); drop table shop.failures; --":                                  "expected one SQL condition",
		"true) stored); create temporary table y (a boolean generated always as (true": "syntax error",
		"true; true":               "expected one SQL condition",
		"row_number() over () = 1": "window",
	} {
		_, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors", Mapping: wire.Mapping{ResolvedWhen: condition}})
		switch {
		case refused == "" && err != nil:
			t.Errorf("%s: %v", condition, err)
		case refused != "" && (!errors.Is(err, define.ErrRefused) || !strings.Contains(err.Error(), refused)):
			t.Errorf("%s: %v, want a refusal that says %q", condition, err, refused)
		}
	}
	if after := w.dump(); after != before {
		t.Errorf("a plan has changed something:\n%s", difference(before, after))
	}
}

// TestRefusals shows what cannot be adopted, and that the way on is said.
func TestRefusals(t *testing.T) {
	w := newWorld(t, "")
	w.exec(`insert into recoup.error_table (table_name, hub, entity_column, dispositions, default_disposition, blocks, policy_version, dead_letter)
		values ('shop.letters', 'shop', 'order_id', '{PARKED,RESOLVED}', 'PARKED', true, '1.0.0', true)`)
	const table = "create table shop.failures (id int primary key, order_id text)"
	for _, c := range []struct{ name, ddl, source, as, why, way string }{
		{"view", table + "; create view shop.v as select * from shop.failures", "shop.v", "", "is a view", "adopt the table behind it"},
		{"rule", table + "; create rule r as on delete to shop.failures do instead nothing", "", "", "rewrite rules (r)", "triggers"},
		{"partition", "create table shop.p (id int primary key) partition by hash (id); create table shop.failures partition of shop.p for values with (modulus 1, remainder 0)", "", "", "partition of shop.p", "adopt shop.p"},
		{"inheritance", table + "; create table shop.child () inherits (shop.failures)", "", "", "inheritance", "NO INHERIT"},
		{"typed", "create type shop.f as (id int, order_id text); create table shop.failures of shop.f (primary key (id))", "", "", "typed table", "NOT OF"},
		{"partitioned without a key", "create table shop.failures (id int, order_id text) partition by hash (id)", "", "", "has no key", "primary key"},
		{"forced row security", table + "; alter table shop.failures enable row level security; alter table shop.failures force row level security", "", "", "forced", "NO FORCE ROW LEVEL SECURITY"},
		{"no such table in the policy", table, "", "shop.other", "no table shop.other", "recoup policy apply"},
		{"dead letters", table, "", "shop.letters", "carry work", "--as TABLE"},
		{"ours", table, "recoup.error", "", "belongs to Recoup", "of your own"},
		{"no entity", "create table shop.failures (id int primary key, a_id int, b_id int)", "", "", "names the entity", "--entity COLUMN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.exec("drop schema shop cascade; create schema shop authorization " + w.role)
			w.as(c.ddl)
			if c.source == "" {
				c.source = "shop.failures"
			}
			if c.as == "" {
				c.as = "shop.errors"
			}
			plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: c.source, As: c.as})
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Refusals) != 1 || !strings.Contains(plan.Refusals[0].Why, c.why) || !strings.Contains(plan.Refusals[0].Way, c.way) {
				t.Errorf("refusals: %q", plan.Refusals)
			}
		})
	}
}

// TestAnAdoptedTableIsNotAdoptedOtherwise asks for another mapping, and for another source
// of the same table of the policy.
func TestAnAdoptedTableIsNotAdoptedOtherwise(t *testing.T) {
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text, other_id text); create table shop.more (id int primary key, order_id text)")
	w.adopt("shop.failures", wire.Mapping{})
	for source, r := range map[string]struct {
		entity, why string
	}{
		"shop.failures": {"other_id", `was adopted with "order_id"`},
		"shop.more":     {"", "governs shop.failures already"},
	} {
		plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: source, As: "shop.errors", Mapping: wire.Mapping{Entity: r.entity}})
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Refusals) != 1 || !strings.Contains(plan.Refusals[0].Why, r.why) {
			t.Errorf("%s: %q", source, plan.Refusals)
		}
	}
}

// TestLargeTablesAreCountedBySample plans a table of many pages.
func TestLargeTablesAreCountedBySample(t *testing.T) {
	w := newWorld(t, `create table shop.failures (id int primary key, order_id text, created_at timestamptz, pad text) with (fillfactor = 10);
		alter table shop.failures alter pad set storage plain;
		insert into shop.failures select n, case when n % 2 = 0 then 'o' end, now() - n * interval '1 hour', repeat('x', 5000) from generate_series(1, 11000) n`)
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors"})
	if err != nil {
		t.Fatal(err)
	}
	if c := plan.Rows; c.Exact || c.Rows < 5000 || c.Rows > 20000 || c.NoEntity < c.Rows/4 || c.Expired < c.Rows/2 {
		t.Errorf("%+v", c)
	}
}

// TestBothOwnersAreNeeded has somebody adopt who owns the table, but not the schema.
func TestBothOwnersAreNeeded(t *testing.T) {
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	w.exec("grant usage on schema recoup to " + w.role + "; grant select on recoup.adoption to " + w.role + "; alter role " + w.role + " login")
	conn := connect(t, strings.Replace(w.url, "recoup_owner", w.role, 1))
	plan, err := define.MakePlan(t.Context(), conn, define.Request{Source: "shop.failures", As: "shop.errors"})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Refusals) != 1 || !strings.Contains(plan.Refusals[0].Way, "GRANT recoup_owner TO "+w.role) {
		t.Errorf("refusals: %q", plan.Refusals)
	}
}

// TestConditionThatFailsOnARow shows that such a row does not keep a table from being
// planned: the plan says what fails.
func TestConditionThatFailsOnARow(t *testing.T) {
	w := newWorld(t, `create table shop.failures (id int primary key, order_id text, n int); insert into shop.failures values (1, 'o1', 1), (2, 'o2', 0)`)
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors", Mapping: wire.Mapping{Entity: "order_id", ResolvedWhen: "1 / n = 2"}})
	if err != nil || len(plan.Refusals) > 0 {
		t.Fatalf("%v, refused: %v", err, plan.Refusals)
	}
	if notes := strings.Join(plan.Notes, "\n"); plan.Rows.Governed != 2 || !strings.Contains(notes, "fails on rows that it has (division by zero)") {
		t.Errorf("%+v, %s", plan.Rows, notes)
	}
}

// TestPlansWithoutTheRights asks for plans where a schema is closed: what is wrong is said in
// the words of the plan, with the command that puts it right, never in the database's alone.
func TestPlansWithoutTheRights(t *testing.T) {
	t.Parallel()
	const ddl = `create table shop.failures (id int primary key, order_id text); create table shop."Odd" (id int primary key, order_id text)`
	w := newWorld(t, ddl)
	w.exec(fmt.Sprintf("create schema closed; create table closed.failures (id int primary key, order_id text); grant all on schema closed to %[1]s; alter table closed.failures owner to %[1]s; revoke all on schema closed from %[1]s", w.role))
	for source, c := range map[string]struct{ why, way string }{
		"shop.failures":   {w.role + " may not act as recoup_owner", "run GRANT recoup_owner TO " + w.role},
		"closed.failures": {w.role + " owns closed.failures and may not use the schema closed", "run GRANT USAGE ON SCHEMA closed TO " + w.role + " as recoup_owner"},
	} {
		conn := w.owner
		if source == "shop.failures" {
			w.exec("alter role " + w.role + " login")
			conn = connect(t, strings.Replace(w.url, "recoup_owner", w.role, 1))
			r := w.runner()
			r.Conn = conn
			if _, err := r.Release(t.Context(), source); !errors.Is(err, define.ErrRefused) || !strings.Contains(err.Error(), c.way) {
				t.Errorf("released: %v", err)
			}
		}
		plan, err := define.MakePlan(t.Context(), conn, define.Request{Source: source, As: "shop.errors"})
		if err != nil || len(plan.Refusals) != 1 || !strings.Contains(plan.Refusals[0].Why, c.why) || !strings.Contains(plan.Refusals[0].Way, c.way) {
			t.Errorf("%s: %v, %q", source, err, plan.Refusals)
		}
	}
	if _, err := define.MakePlan(t.Context(), w.app, define.Request{Source: `shop."Odd"`}); !errors.Is(err, define.ErrRefused) || !strings.Contains(err.Error(), "GRANT USAGE ON SCHEMA") {
		t.Errorf("a name that has to be looked up: %v", err)
	}
	w.exec("alter schema recoup rename to elsewhere")
	if _, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures"}); !errors.Is(err, define.ErrRefused) || !strings.Contains(err.Error(), "recoup migrate up") {
		t.Errorf("a database without the schema recoup: %v", err)
	}
}

// TestConditionsUseNoCodeOfOtherRoles plans adoptions with a search path that has a schema in which another role
// creates an operator and a function. Conditions that do not name that schema do not use them, also if the
// arguments fit better than those of pg_catalog.
func TestConditionsUseNoCodeOfOtherRoles(t *testing.T) {
	w := newWorld(t, `create type shop.mood as enum ('good', 'bad');
		create table shop.failures (id int primary key, order_id text, status varchar, mood shop.mood); insert into shop.failures values (1, 'a', 'done', 'good');
		grant usage on schema shop to public; create sequence shop.ran; grant all on shop.ran to public`)
	other := w.role + "_other"
	w.exec(fmt.Sprintf(`create role %[1]s; grant %[1]s to recoup_owner; create schema pub; grant usage, create on schema pub to public; set role %[1]s;
		create function pub.same(varchar, varchar) returns boolean language plpgsql immutable as $f$ begin perform nextval('shop.ran'); return true; end $f$;
		create function pub.same(shop.mood, shop.mood) returns boolean language plpgsql immutable as $f$ begin perform nextval('shop.ran'); return true; end $f$;
		create operator pub.= (leftarg = varchar, rightarg = varchar, function = pub.same);
		create operator pub.= (leftarg = shop.mood, rightarg = shop.mood, function = pub.same);
		create function pub.lower(varchar) returns text language plpgsql immutable as $f$ begin perform nextval('shop.ran'); return 'x'; end $f$;
		create function pub.fits(text) returns boolean language plpgsql as $f$ begin perform nextval('shop.ran'); return true; end $f$;
		create domain pub.kind as text check (pub.fits(value));
		reset role; set role %[2]s; create function shop.good(varchar) returns boolean language sql immutable as 'select true'; reset role`, other, w.role))
	for condition, refused := range map[string]string{
		"status = 'done'":        "pub.same(character varying,character varying) of " + other,
		"mood = 'good'":          "pub.same(shop.mood,shop.mood) of " + other,
		"lower(status) < 'x'":    "pub.lower(character varying) of " + other,
		"upper(order_id) < 'x'":  "",
		"order_id < 'x'::kind":   "the type pub.kind of " + other,
		"mood < 'bad'":           "",
		"shop.good(status)":      "",
		"good('x')":              "",
		"status < 'done'":        "",
		"pub.lower(status) < ''": "",
	} {
		_, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors", Mapping: wire.Mapping{ResolvedWhen: condition}, Path: []string{"pub", "shop"}})
		switch {
		case refused == "" && err != nil:
			t.Errorf("%s: %v", condition, err)
		case refused != "" && (!errors.Is(err, define.ErrRefused) || !strings.Contains(err.Error(), refused)):
			t.Errorf("%s: %v, want a refusal that says %q", condition, err, refused)
		}
		if ran := ask(t, w.owner, "select is_called from shop.ran"); condition != "pub.lower(status) < ''" && ran != `{"is_called":false}` {
			t.Errorf("%s: the code of the other role ran: %s", condition, ran)
		}
		w.exec("alter sequence shop.ran restart")
	}
}
