package postgres_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/golden"
)

const privilegeFile = "testdata/privileges.golden"

// Every privilege of every role on every schema, table, column, view, sequence, type and function
// of Recoup is in one file, with who owns each, and how functions run. -update rewrites it.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	owner.run("select recoup.ensure_event_partitions('{2026-02-01}'), recoup.create_partition('transition', '2026-02-01')")
	got := privilegeHeader + strings.Join(column[string](owner, selectPrivileges), "\n") + "\n"
	if golden.Updating() {
		golden.Equal(t, privilegeFile, got)
	}
	want, err := os.ReadFile(privilegeFile)
	must(t, err)
	is, was := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			t.Errorf("- %s", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			t.Errorf("+ %s", line)
		}
	}
	if t.Failed() {
		t.Logf("privileges have changed (-: %s, +: the database). If that is meant: go test -run %s -update", privilegeFile, t.Name())
	}
}

// What must hold of the file, whatever else changes.
func TestPrivilegesAreLeast(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(privilegeFile)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		object, privileges, _ := strings.Cut(strings.TrimSpace(line), " | ")
		switch {
		case strings.HasPrefix(object, "#"):
		case strings.Contains(object, "returns trigger") && privileges != "":
			t.Errorf("a trigger function can be executed: %s", line)
		case strings.Contains(object, "definer") && !strings.Contains(object, "search_path=pg_catalog, pg_temp"):
			t.Errorf("a function runs as the owner under its caller's path: %s", line)
		case strings.HasPrefix(object, "table recoup.gate_stripe_") && privileges != "":
			t.Errorf("a lock can be taken: %s", line)
		case !strings.HasPrefix(object, "role ") && !strings.Contains(object, "owner owner"):
			t.Errorf("another role owns it: %s", line)
		case strings.Contains(privileges, "truncate") || strings.Contains(privileges, "trigger") || strings.Contains(privileges, "references") || strings.Contains(privileges, "create"):
			t.Errorf("a privilege that no role needs: %s", line)
		}
	}
}

const privilegeHeader = `# What each role may do: a line for each object, with its owner and, of a function, how it
# runs, then the privileges of each role. PUBLIC is every role. Rewrite: go test -run TestPrivileges -update
`

// selectPrivileges lists roles, and objects with their privileges. The stripes of the gate,
// which are many and alike, are one line with their number. MAINTAIN is of PostgreSQL 17.
const selectPrivileges = `
	with mine as (select nspowner as owner from pg_namespace where nspname = 'recoup'),
	place as (select n.oid, n.nspname, n.nspowner, n.nspacl from pg_namespace n
	  where n.nspname in ('recoup', 'cl') or n.nspname <> 'public' and exists (select from pg_class c, mine where c.relnamespace = n.oid and c.relkind = 'v' and c.relowner = mine.owner)),
	relation as (select c.oid, c.relowner, c.relacl, case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end as kind,
	    format('%I.%I', p.nspname, c.relname) as name from pg_class c join place p on p.oid = c.relnamespace where c.relkind in ('r', 'p', 'v', 'S')),
	thing (object, owner, acl) as (
	  select 'schema ' || nspname, nspowner, coalesce(nspacl, acldefault('n', nspowner)) from place
	  union all
	  select kind || ' ' || name, relowner, coalesce(relacl, acldefault(case kind when 'sequence' then 's' else 'r' end::"char", relowner)) from relation
	  union all
	  select format('column %s.%I', r.name, a.attname), r.relowner, a.attacl from pg_attribute a join relation r on r.oid = a.attrelid where a.attacl is not null
	  union all
	  select format('type %I.%I', p.nspname, t.typname), t.typowner, coalesce(t.typacl, acldefault('T', t.typowner)) from pg_type t join place p on p.oid = t.typnamespace
	    left join pg_class c on c.oid = t.typrelid where t.typtype in ('d', 'e') or t.typtype = 'c' and c.relkind = 'c'
	  union all
	  select format('function %I.%I(%s) returns %s', p.nspname, f.proname, pg_get_function_identity_arguments(f.oid), f.prorettype::regtype)
	      || case when f.prosecdef then ' definer' else '' end || coalesce(' ' || (select string_agg(s, ' ') from unnest(f.proconfig) s where s like 'search_path=%'), ''),
	      f.proowner, coalesce(f.proacl, acldefault('f', f.proowner)) from pg_proc f join place p on p.oid = f.pronamespace
	  union all
	  select format('default %s in %s', d.defaclobjtype, coalesce(p.nspname, 'every schema')), d.defaclrole, d.defaclacl from pg_default_acl d left join place p on p.oid = d.defaclnamespace),
	line as (
	  select format('%s owner %s | %s', regexp_replace(object, 'gate_stripe_\d+', 'gate_stripe_NNN'), case when thing.owner = mine.owner then 'owner' else pg_get_userbyid(thing.owner)::text end,
	      coalesce((select string_agg(who || ': ' || what, '; ' order by who collate "C") from (
	        select coalesce(g.rolname, 'PUBLIC') as who, string_agg(lower(a.privilege_type) || case when a.is_grantable then ' with grant option' else '' end, ', ' order by a.privilege_type) as what
	          from aclexplode(acl) a left join pg_roles g on g.oid = a.grantee where a.grantee <> thing.owner and a.privilege_type <> 'MAINTAIN' group by 1) w), '')) as line
	    from thing, mine)
	select line from (select 'role ' || rolname || ' | ' || concat_ws(', ', case when rolcanlogin then 'login' end, case when rolsuper then 'superuser' end, case when rolcreatedb then 'createdb' end,
	    case when rolcreaterole then 'createrole' end, case when rolreplication then 'replication' end, case when rolbypassrls then 'bypassrls' end,
	    (select 'member of ' || string_agg(m.roleid::regrole::text, ', ' order by 1) from pg_auth_members m where m.member = r.oid))
	  from pg_roles r where rolname in ('recoup_app', 'recoup_writer', 'recoup_reader')
	union all
	select rtrim(replace(line, 'NNN', format('NNN (%s tables)', count(*)))) from line group by line) x (line)
	order by line collate "C"`
