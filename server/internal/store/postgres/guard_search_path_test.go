package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// TestFunctionsOfOthersDoNotRun plants functions in the schema public that fit the arguments of
// our statements better than those of pg_catalog do. None runs with the rights of a node or of
// the schema's owner.
func TestFunctionsOfOthersDoNotRun(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner := at(t, ownerURL)
	stranger := "planter_" + owner.Config().Database
	owner.run("create role " + stranger + " login")
	owner.run("grant create, usage on schema public to " + stranger)
	other := role(t, owner, stranger)
	other.run("create table public.loot (who text, what text)")
	other.run("grant all on public.loot to public")
	plant := func(name, arguments, returns, call string) {
		other.run("create function public." + name + "(" + arguments + ") returns " + returns + ` language plpgsql as $$
			begin insert into public.loot values (current_user, '` + name + `'); ` + call + ` end $$`)
	}
	plant("unnest", "text[]", "setof text", "return query select pg_catalog.unnest($1);")
	plant("cardinality", "text[]", "int", "return pg_catalog.cardinality($1);")
	plant("quote_ident", "name", "text", "return pg_catalog.quote_ident($1::text);")
	plant("joined", "name, name", "text", "return pg_catalog.concat($1, $2);")
	other.run("create operator public.|| (leftarg = name, rightarg = name, function = public.joined)")
	if other.run("select public.unnest(array['x']), public.quote_ident('x'::name)"); ask[int](other, "select count(*) from public.loot") == 0 {
		t.Fatal("the planted functions leave no trace")
	}
	other.run("delete from public.loot")

	s := open(t, appURL)
	if _, err := rows(t, s).Adoptions(t.Context()); err != nil {
		t.Error(err)
	}
	if err := postgres.Migrate(t.Context(), ownerURL); err != nil {
		t.Error(err)
	}
	if ran := ask[[]string](owner, "select coalesce(array_agg(distinct who || ' ran ' || what), '{}') from public.loot"); len(ran) > 0 {
		t.Error(strings.Join(ran, ", "))
	}
}

// TestPlantedFunctionsBehindAPooler connects through poolers, one that refuses startup parameters
// and one that ignores them, with the schema public before pg_catalog in the path of the session.
// Nothing that is planted there runs.
func TestPlantedFunctionsBehindAPooler(t *testing.T) {
	t.Parallel()
	for name, ignores := range map[string]string{
		"refuses": "",
		"ignores": "ignore_startup_parameters = search_path, lock_timeout, statement_timeout, idle_in_transaction_session_timeout, jit, enable_seqscan",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ownerURL, _ := pgtest.Migrated(t)
			owner := at(t, ownerURL)
			owner.run("set search_path = pg_catalog; create table public.loot (what text); grant all on public.loot to public")
			for _, function := range []string{"pg_backend_pid() returns int", "set_config(text, text, bool) returns text", "to_regclass(text) returns regclass", "compare(oid, regclass) returns bool"} {
				owner.run("create function public." + function + " language plpgsql as $$ begin insert into public.loot values ('" + function + "'); return null; end $$")
			}
			owner.run("create operator public.= (leftarg = oid, rightarg = regclass, function = public.compare)")
			owner.run("alter role recoup_owner in database " + owner.Config().Database + " set search_path = public, pg_catalog")
			through := pgtest.Pool(t, "transaction", ignores)(ownerURL)
			if _, err := postgres.Status(t.Context(), through, ""); err != nil {
				t.Error(err)
			}
			if _, err := postgres.ReadTakenOver(t.Context(), through); err != nil {
				t.Error(err)
			}
			if err := postgres.Migrate(t.Context(), through); !errors.Is(err, postgres.ErrPooled) {
				t.Error(err)
			}
			s, err := postgres.Open(t.Context(), through, postgres.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Inspect(t.Context(), store.Inspection{}); err != nil {
				t.Error(err)
			}
			must(t, s.Close())
			if ran := ask[[]string](owner, "select coalesce(array_agg(distinct what), '{}') from public.loot"); len(ran) > 0 {
				t.Error(strings.Join(ran, ", "))
			}
		})
	}
}

// TestOwnersNoteTheirOwnChanges refuses changes that the owner of one adopted table notes for
// another, and changes that no trigger of ours would note.
func TestOwnersNoteTheirOwnChanges(t *testing.T) {
	t.Parallel()
	ownerURL, _ := pgtest.Migrated(t)
	owner := at(t, ownerURL)
	shop := "shop_" + owner.Config().Database
	owner.run("create role " + shop + " login")
	owner.run("grant usage on schema recoup to " + shop)
	owner.run("grant insert (adoption_id, keys, numbers, uuids, entities) on recoup.adopted_change to " + shop)
	for i, who := range []string{shop, "another"} {
		owner.run(`insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, begun_by)
			values ($1, $1, $2, $3, '{id}', '{}', 'ada')`, "a.t"+string(rune('1'+i)), i+1, who)
	}
	table := role(t, owner, shop)
	table.run("insert into recoup.adopted_change (adoption_id, keys) values (1, '{7}')")
	for _, row := range []struct{ what, values, state string }{
		{"of another owner's table", `2, '{7}', null`, "42501"},
		{"a null key", `1, '{null}', null`, "23514"},
		{"a null entity", `1, '{7}', '{null}'`, "23514"},
		{"too many keys", `1, array(select g::text from generate_series(1, 1001) g), null`, "23514"},
		{"large keys", `1, array[repeat('x', 5000000)], null`, "23514"},
		{"keys in two dimensions", `1, '{{7},{8}}', null`, "0A000"},
	} {
		if state := table.sqlState("insert into recoup.adopted_change (adoption_id, keys, entities) values (" + row.values + ")"); state != row.state {
			t.Errorf("%s: %q instead of %s", row.what, state, row.state)
		}
	}
}
