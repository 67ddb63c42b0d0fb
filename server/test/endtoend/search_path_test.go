package endtoend

import (
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/test/program"
)

// plants creates operators, functions and views in the schema public that log who runs them.
// The operators fit pairs of types that pg_catalog has no operator for, and the functions fit
// arguments better than those of pg_catalog. With public before pg_catalog in the search path,
// all of them are preferred.
const plants = `set search_path = pg_catalog;
do $$
declare
  l text; r text; op text; f record; n int := 0;
  types constant text[] := array['oid', 'regclass', 'regnamespace', 'regrole', 'regtype', 'regproc', 'name', 'text', '"char"', 'int4', 'int8', 'bool', 'timestamptz'];
  body constant text := 'begin raise log ''planted % ran as %'', %L, current_user; return null; end';
begin
  foreach l in array types loop
    foreach r in array types loop
      n := n + 1;
      execute format('create function public.compare_%s(%s, %s) returns bool language plpgsql as %L', n, l, r, replace(body, '%L', quote_literal(l || ' = ' || r)));
      execute format('create function public.join_%s(%s, %s) returns text language plpgsql as %L', n, l, r, replace(body, '%L', quote_literal(l || ' joined ' || r)));
      foreach op in array array['=', '<>', '<', '>', '<=', '>=', '~~', '~'] loop
        execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.compare_%s)', op, l, r, n);
      end loop;
      execute format('create operator public.|| (leftarg = %s, rightarg = %s, function = public.join_%s)', l, r, n);
    end loop;
  end loop;
  for f in select distinct p.proname, pg_get_function_identity_arguments(p.oid) as args, p.prorettype::regtype::text as returns
      from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.provariadic = 0 and not p.proretset
        and p.proname in ('to_regclass', 'to_regrole', 'to_regnamespace', 'to_regproc', 'quote_ident', 'pg_get_userbyid', 'has_schema_privilege', 'has_database_privilege',
          'has_table_privilege', 'array_to_string', 'lower', 'set_config', 'current_setting', 'pg_backend_pid', 'current_database', 'now', 'format_type', 'pg_is_in_recovery')
    union select w.name, t.type, 'text' from unnest(array['format', 'quote_ident', 'lower', 'concat', 'to_regclass', 'pg_get_userbyid', 'cardinality']) w (name), unnest(types) t (type)
      where not exists (select from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace and p.proname = w.name and oidvectortypes(p.proargtypes) = t.type::regtype::text) loop
    execute format('create function public.%I(%s) returns %s language plpgsql as %L', f.proname, f.args, f.returns, replace(body, '%L', quote_literal(f.proname || '(' || f.args || ')')));
  end loop;
  execute format('create function public.spied(what text) returns bool language plpgsql as %L', replace(replace(body, '%L', '$1'), 'null', 'true'));
  foreach l in array array['pg_class', 'pg_namespace', 'pg_type', 'pg_proc', 'pg_roles', 'pg_settings', 'pg_constraint', 'pg_depend'] loop
    execute format('create view public.%I as select * from pg_catalog.%I where public.spied(%L)', l, l, l);
    execute format('grant select on public.%I to public', l);
  end loop;
end $$`

var plantedRan = regexp.MustCompile(`planted .*`)

// TestNothingPlantedRuns runs every command that connects to the database, as a superuser and as
// the owner of the schema, with hostile operators, functions and views in the schema public. None
// of them runs, whatever search path the database sets for the user.
func TestNothingPlantedRuns(t *testing.T) {
	t.Parallel()
	for i, path := range []string{"", "public, pg_catalog"} {
		for j, user := range []string{"postgres", "recoup_owner"} {
			t.Run(fmt.Sprintf("%s, path %q", user, path), func(t *testing.T) {
				tier.Turn(t, 2*i+j, 4)
				t.Parallel()
				server := pgtest.Start(t, pgtest.Options{})
				super := loginAs(t, server.New(t), "postgres")
				address := loginAs(t, super, user)
				ownerSQL(t, super, "create role mallory login; grant create, usage on schema public to mallory")
				ownerSQL(t, loginAs(t, super, "mallory"), plants)
				if path != "" {
					ownerSQL(t, super, "alter role "+user+" set search_path = "+path)
				}
				before := server.Log(t)
				everyCommand(t, address)
				if ran := plantedRan.FindAllString(strings.TrimPrefix(server.Log(t), before), -1); len(ran) > 0 {
					slices.Sort(ran)
					t.Error(strings.Join(slices.Compact(ran), "\n"))
				}
			})
		}
	}
}

func loginAs(t *testing.T, address, user string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(user)
	return u.String()
}

// everyCommand runs the commands that take --database, and a node.
func everyCommand(t *testing.T, address string) {
	t.Helper()
	run := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program.Path(t), append(args, "--database", address)...).CombinedOutput()
		if err != nil && args[0] != "doctor" { // whose status says what it has found
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	run("migrate", "status")
	run("migrate", "up")
	run("migrate", "up")
	run("migrate", "status")
	ownerSQL(t, address, "set search_path = pg_catalog; "+dolErrors)
	s := newSite(t, database{Nodes: address})
	s.start()
	if got := s.report("CO-1"); got.status >= 300 {
		t.Errorf("a report: %d %s", got.status, got.body)
	}
	run("adopt", "outreach.dol_errors", "--entity", "outreach_id")
	run("adopt", "outreach.dol_errors", "--entity", "outreach_id", "--apply", "--yes")
	run("doctor")
	run("adopt", "release", "outreach.dol_errors", "--yes")
	run("keys", "create", "--name", "ada", "--role", "admin")
	run("keys", "list")
	run("export", "parquet", "--to-dir", filepath.Join(t.TempDir(), "events"))
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
