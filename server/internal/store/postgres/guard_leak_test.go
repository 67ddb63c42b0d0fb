package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// A reader's own function in a condition is never asked about a row that the reader may not
// read, however cheap the function says it is.
func TestRowSecurityLeaksNothing(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, s := at(t, ownerURL), open(t, appURL)
	d, b := conformance.NewDriver(t, s), conformance.NewBookkeeper(t, s)
	b.Add(b.Event("mail", "NETWORK_TIMEOUT", conformance.Epoch()), b.Event("secret_service", "NETWORK_TIMEOUT", conformance.Epoch()))
	must(t, s.FoldRollups(t.Context()))
	b.Add(b.Event("secret_service", "NETWORK_TIMEOUT", conformance.Epoch()))
	hidden := []string{people, people + "_archive", "secret_service", "SECRET"}
	for _, table := range []string{dol, people} {
		d.Report(table, "e1", "NETWORK_TIMEOUT", recoup.Medium)
		d.Archive(d.Report(table, "e2", "NETWORK_TIMEOUT", recoup.Medium).ID)
		owner.run(`insert into recoup.source_detail (error_id, table_name, details) select error_id, table_name, jsonb_build_object('of', table_name) from recoup.error
			where table_name = '` + table + `'`)
	}
	hidden = append(hidden, column[string](owner, `select error_id::text from recoup.error where table_name = '`+people+`'
		union all select error_id::text from recoup.error_archive where table_name = '`+people+`'`)...)
	owner.run("insert into cl.gate_zero_batch (batch_id, created_at) values ('SECRET', recoup.clock())")
	owner.run("select recoup.enable_row_security()")
	name := "leak_" + owner.Config().Database
	owner.run("create role " + name + " login in role recoup_reader")
	owner.run("select recoup.allow_read('" + name + "', 'hub', 'DOL Filings'), recoup.allow_read('" + name + "', 'service', 'mail')")
	reader := role(t, owner, name)
	reader.run(`create function pg_temp.peek(seen text) returns boolean language plpgsql cost 0.0001 as
		$$ begin if seen ~ '` + strings.Join(hidden, "|") + `' then raise exception 'sees %', seen; end if; return true; end $$`)
	relations := column[string](reader, readableRelations)
	if len(relations) < 15 {
		t.Errorf("found only %v", relations)
	}
	for _, settings := range []string{"on", "off"} {
		reader.run("select set_config('enable_indexscan', '" + settings + "', false), set_config('enable_bitmapscan', '" + settings + "', false)")
		for _, relation := range relations {
			for _, sql := range []string{
				"select count(*) from " + relation + " v where pg_temp.peek(v::text)",
				"select count(*) from (select * from " + relation + " x where pg_temp.peek(row_to_json(x)::text)) v",
			} {
				if _, err := reader.Exec(t.Context(), sql); err != nil {
					t.Errorf("%s: %v", sql, err)
				}
			}
		}
	}
	for sql, want := range map[string]int{
		"select count(*) from recoup.error_history where error_id in (select error_id from outreach.dol_errors)":         1,
		"select count(*) from recoup.error_history where error_id in (select error_id from outreach.dol_errors_archive)": 2,
	} {
		if got := ask[int](reader, sql); got != want {
			t.Errorf("%s: %d, want %d", sql, got, want)
		}
	}
}

// readableRelations lists what a role may read of Recoup and under names of the policy, but for
// what is not held to rows: codes, and the policy's tables and their names.
const readableRelations = `select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
	where c.relkind in ('r', 'p', 'v') and n.nspname !~ '^(pg_|information_schema)' and not c.relispartition
	  and has_schema_privilege(n.oid, 'usage') and has_any_column_privilege(c.oid, 'select')
	  and c.oid <> all ('{recoup.error_code,recoup.error_table,recoup.name_taken}'::regclass[]) order by 1`

// While row security is on, readers have no tables that are read by hub: EXPLAIN ANALYZE would count what an index
// condition finds in other hubs. They read the views, and the parts of other hubs are not executed.
func TestReadersCannotCountOtherHubs(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	d := conformance.NewDriver(t, s)
	d.Report(dol, "mine", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(people, "secret", "NETWORK_TIMEOUT", recoup.Medium)
	d.Archive(d.Report(people, "secret-2", "NETWORK_TIMEOUT", recoup.Medium).ID)
	reader := role(t, owner, member(t, owner, "counter", "recoup_reader"))
	tables := []string{"recoup.error", "recoup.error_archive", "(select error_id, table_name, details from recoup.source_detail)"}
	open := func(when string) {
		t.Helper()
		for _, table := range tables {
			reader.run("select from " + table + " x")
		}
		expectGrants(t, s, when)
	}
	closed := func(when string) {
		t.Helper()
		for _, table := range tables {
			if got := reader.sqlState("explain analyze select from " + table + " x"); got != privilege {
				t.Errorf("%s: %s: %s", when, table, got)
			}
		}
		expectGrants(t, s, when)
	}
	open("off")
	owner.run("select recoup.enable_row_security()")
	owner.run("select recoup.allow_read('" + reader.Config().User + "', 'hub', 'DOL Filings')")
	closed("on")
	must(t, postgres.Migrate(t.Context(), owner.Config().ConnString()))
	closed("after a migration")
	reader.run("set enable_seqscan = off; set enable_bitmapscan = off")
	for view, want := range map[string]bool{"people.people_errors": false, "people.people_errors_archive": false, "outreach.dol_errors": true} {
		plan := strings.Join(column[string](reader, "explain (analyze, costs off, timing off) select from "+view+" where outreach_id >= 'a' and outreach_id < 'z'"), "\n")
		if scanned := !strings.Contains(plan, "(never executed)"); scanned != want || !strings.Contains(plan, "One-Time Filter") {
			t.Errorf("%s is scanned: %t\n%s", view, scanned, plan)
		}
	}
	owner.run("select recoup.disable_row_security()")
	open("off again")
	must(t, postgres.Migrate(t.Context(), owner.Config().ConnString()))
	open("off after a migration")
}

// expectGrants expects the doctor to find every privilege as it should be.
func expectGrants(t *testing.T, s *postgres.Store, when string) {
	t.Helper()
	facts, err := s.Inspect(t.Context(), store.Inspection{})
	must(t, err)
	grants := func(list []store.Object) (of []string) {
		for _, o := range list {
			if o.Kind == store.ObjectGrant {
				of = append(of, o.Name+": "+o.Definition)
			}
		}
		slices.Sort(of)
		return of
	}
	if got, want := grants(facts.Present), grants(facts.Expected); !slices.Equal(got, want) {
		t.Errorf("%s: grants differ: %s", when, strings.Join(append(missing(want, got), missing(got, want)...), "; "))
	}
}

// missing are the lines of a list that another has not.
func missing(list, other []string) (left []string) {
	for _, line := range list {
		if !slices.Contains(other, line) {
			left = append(left, line)
		}
	}
	return left
}
