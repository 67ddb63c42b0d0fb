package postgres_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// shownByEstimates are the text columns whose values in other hubs EXPLAIN shows: docs/operations.md lists
// them. They have an index and need statistics, or have only values that Recoup itself writes.
var shownByEstimates = regexp.MustCompile(`^(entity_id|outreach_id|company_unique_id|code|service|assigned_to|batch_id|import_key|table_name|reported_table|` +
	`policy_version|severity|category|class|state|disposition|last_result|archive_reason|final_disposition|was_state|was_disposition|input|end_input|status|event)$`)

// plantSecrets copies a row of each table 400 times, with a secret in every text column but those above.
const plantSecrets = `do $$
declare
  copied record;
  names  text;
  patch  jsonb;
begin
  for copied in select * from (values ('recoup.error'::regclass, '{error_id}'::text[], '{"replaceable": false}'::jsonb), ('recoup.error_archive', '{error_id}', '{}'),
      ('recoup.transition', '{error_id}', '{}'), ('recoup.error_event', '{event_id}', '{}'), ('cl.gate_zero_intake', '{intake_id}', '{"import_key": null, "state": "SECRET"}'),
      ('cl.gate_zero_recovery', '{recovery_id,intake_id}', '{}'), ('cl.gate_zero_batch', '{batch_id}', '{"killed_at": "2026-02-02"}'),
      ('cl.gate_zero_air', '{air_id}', '{}')) as v (name, ids, fields) loop
    select string_agg(quote_ident(attname), ', '), copied.fields || coalesce(jsonb_object_agg(attname, 'SECRET') filter (where atttypid = 'text'::regtype
          and attname !~ 'SHOWN' and attname <> all (copied.ids)), '{}') into names, patch
      from pg_attribute where attrelid = copied.name and attnum > 0 and not attisdropped and attgenerated = '';
    execute format('insert into %1$s (%2$s) overriding system value select %2$s from (select (jsonb_populate_record(s.x, %3$L::jsonb || %4$s)).*
      from (select t as x from %1$s t limit 1) s cross join generate_series(1, 400) n) y', copied.name, names, patch,
      (select 'jsonb_build_object(' || string_agg(format('%L, %s', id, case id when 'air_id' then '1000 + n' else 'gen_random_uuid()' end), ', ') || ')' from unnest(copied.ids) id));
  end loop;
end $$`

// EXPLAIN estimates from the statistics of all hubs. The text of others is not in them, whatever a reader
// compares it with: not in the views, the history, events or Gate Zero.
func TestEstimatesShowNoText(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, s := at(t, ownerURL), open(t, appURL)
	d, b := conformance.NewDriver(t, s), conformance.NewBookkeeper(t, s)
	b.Add(b.Event("secret_service", "NETWORK_TIMEOUT", conformance.Epoch()))
	d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Archive(d.Report(people, "e2", "NETWORK_TIMEOUT", recoup.Medium).ID)
	super := role(t, owner, "postgres")
	super.run(`set session_replication_role = replica;
		insert into cl.gate_zero_batch (batch_id, killed_at, killed_by) values ('b', now(), 'x');
		insert into cl.gate_zero_intake (company_name) values ('x');
		insert into cl.gate_zero_recovery (intake_id, failure_reason) select intake_id, 'x' from cl.gate_zero_intake;
		insert into cl.gate_zero_air (intake_id, event, reason) select intake_id, 'FAIL', 'x' from cl.gate_zero_intake`)
	super.run(strings.Replace(plantSecrets, "SHOWN", shownByEstimates.String(), 1))
	owner.run("select recoup.enable_row_security()")
	super.run("analyze")
	reader := role(t, owner, member(t, owner, "estimating", "recoup_reader"))
	asked := estimates(t, reader)
	for _, want := range []string{"people.people_errors.message", "people.people_errors_archive.resolved_by", "recoup.error_history.actor", "recoup.error_history.reason",
		"recoup.error_event.endpoint", "recoup.error_event.tenant_hash", "cl.gate_zero_intake.company_name", "cl.gate_zero_air.reason"} {
		if !slices.Contains(asked, want) {
			t.Errorf("%s was not asked for", want)
		}
	}
}

// estimates asks for every text column of what a role may read, and returns their names.
func estimates(t *testing.T, reader prompt) (asked []string) {
	t.Helper()
	for _, relation := range column[string](reader, readableRelations) {
		for _, name := range column[string](reader, "select attname::text from pg_attribute where attrelid = '"+relation+"'::regclass and attnum > 0 and atttypid = 'text'::regtype") {
			if shownByEstimates.MatchString(name) && relation+"."+name != "cl.gate_zero_intake.state" {
				continue
			}
			asked = append(asked, relation+"."+name)
			for _, condition := range []string{"NAME = 'TEXTT'", "NAME >= 'TEXTS' and NAME < 'TEXTU'", "NAME <> 'TEXTT'"} {
				rows := func(text string) float64 {
					sql := strings.NewReplacer("NAME", `"`+name+`"`, "TEXT", text).Replace("explain (format json) select from " + relation + " where " + condition)
					return ask[[]explained](reader, sql)[0].Plan.Rows
				}
				if secret, other := rows("SECRE"), rows("NOSUC"); secret != other {
					t.Errorf("%s.%s, %s: %g rows, and %g of what is not there", relation, name, condition, secret, other)
				}
			}
		}
	}
	return asked
}

// explained is a plan of EXPLAIN.
type explained struct {
	Plan struct {
		Rows float64 `json:"Plan Rows"`
	}
}
