package define_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// overloads are functions and operators of the owner of a table that a condition uses, and what another role creates in
// the same schema later.
var overloads = map[string]struct{ own, condition, refused, other string }{
	"any type": {"create function pub.over(anyelement) returns boolean language sql immutable as 'select false'", "pub.over(status)",
		"uses the function pub.over(anyelement)", ""},
	"a default": {"create function pub.over(text, int default 1) returns boolean language sql immutable as 'select false'", "status = 'x' or pub.over(status)",
		"uses the function pub.over(text,integer)", ""},
	"operator": {"create function pub.alike(anyelement, anyelement) returns boolean language sql immutable as 'select false'; create operator pub.~~~ (leftarg = anyelement, rightarg = anyelement, function = pub.alike)",
		"status operator(pub.~~~) 'done'::text", "uses the operator pub.~~~(anyelement,anyelement)", ""},
	"exact types": {"create function pub.over(text) returns boolean language sql immutable as 'select false'", "pub.over(status::varchar) or pub.over('x')", "",
		"create function pub.over(varchar) returns boolean language sql immutable as 'select pub.ran()'; create function pub.over(anyelement) returns boolean language sql immutable as 'select pub.ran()'"},
	"variadic": {"create function pub.over(variadic text[]) returns boolean language sql immutable as 'select false'", "pub.over(status, 'x')", "",
		"create function pub.over(text, text) returns boolean language sql immutable as 'select pub.ran()'"},
}

// TestConditionsCallNoOverloads has another role create functions in a schema which fit a condition better than those that
// it was adopted with. Nodes do not run them with the rights of the table's owner.
func TestConditionsCallNoOverloads(t *testing.T) {
	t.Parallel()
	for name, c := range overloads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "create table shop.failures (id int primary key, order_id text, status text); create sequence shop.ran; grant usage on schema shop to public; grant all on shop.ran to public")
			other := w.role + "_other"
			w.exec(fmt.Sprintf("create role %[1]s; grant %[1]s to recoup_owner; create schema pub; grant usage, create on schema pub to public; set role %[2]s; %[3]s; reset role", other, w.role, c.own))
			plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors", Mapping: wire.Mapping{Entity: "order_id", ResolvedWhen: c.condition}})
			if c.refused != "" {
				if !errors.Is(err, define.ErrRefused) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("planned: %v, want a refusal that says %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := w.runner().Apply(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
			w.exec(fmt.Sprintf("set role %s; create function pub.ran() returns boolean language sql immutable as $$ select nextval('shop.ran') > 0 $$; %s; reset role", other, c.other))
			w.as("insert into shop.failures values (1, 'a', 'x')")
			if _, err := w.node().Exec(t.Context(), "select * from recoup.adopted_1_read('{1}')"); err != nil {
				t.Error(err)
			}
			if got := ask(t, w.owner, "select is_called from shop.ran"); got != `{"is_called":false}` {
				t.Errorf("the code of another role ran: %s", got)
			}
		})
	}
}

// TestConditionsInSchemasOfOtherRoles plans a condition with a function that the search path finds in a schema of another
// role, who could drop it and create another one.
func TestConditionsInSchemasOfOtherRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text, status text)")
	other := w.role + "_other"
	w.exec(fmt.Sprintf(`create role %[1]s; grant %[1]s to recoup_owner; create schema pub; grant usage, create on schema pub to public; set role %[2]s;
		create function pub.over(text) returns boolean language sql immutable as 'select false'; reset role; do $d$ begin execute format('grant create on database %%I to %[1]s', current_database()); end $d$; alter schema pub owner to %[1]s`, other, w.role))
	plan := func(condition string) error {
		_, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors", Mapping: wire.Mapping{ResolvedWhen: condition}, Path: []string{"pub"}})
		return err
	}
	if err := plan("over(status)"); !errors.Is(err, define.ErrRefused) || !strings.Contains(err.Error(), "pub.over(text) of "+other) {
		t.Errorf("found by the search path: %v", err)
	}
	if err := plan("pub.over(status)"); err != nil {
		t.Errorf("named with its schema: %v", err)
	}
}
