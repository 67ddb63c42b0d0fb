package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// act is something that no rule allows, tried in plain SQL as nodes may use it.
type act struct {
	sql   string
	state string // the SQLSTATE it is refused with
}

// What refuses: a guard of ours, a constraint, or the lack of a privilege.
const (
	guard      = "RC001"
	check      = "23514"
	privilege  = "42501"
	noFunction = "42883"

	notNull      = "23502"
	notUpdatable = "55000"
)

// The rows that are tried: %open, %parked, %resolved, %kept, %archived stand
// for their ids.
func forbiddenActs() []act {
	return []act{
		// What an error is and when it was made is permanent.
		{"update recoup.error set error_id = gen_random_uuid() where error_id = %open", guard},
		{"update recoup.error set table_name = 'people.people_errors' where error_id = %open", guard},
		{"update recoup.error set reported_table = 'x.y' where error_id = %open", guard},
		{"update recoup.error set entity_id = 'another' where error_id = %open", guard},
		{"update recoup.error set entity_id = null, blocking = false where error_id = %open", guard},
		{"update recoup.error set code = 'ANOTHER' where error_id = %open", guard},
		{"update recoup.error set created_at = created_at - interval '1 day' where error_id = %open", guard},
		{"update recoup.error set correlation_id = gen_random_uuid() where error_id = %open", guard},
		{"update recoup.error set policy_version = null where error_id = %open", guard},
		{"update recoup.error set message = 'rewritten' where error_id = %open", guard},
		{"insert into recoup.error (error_id, table_name, code, disposition, policy_version) values ('00000000-0000-0000-0000-000000000000', 'public.shq_error_log', 'X', 'IGNORE', '1.0.0')", check},
		{"insert into recoup.error (error_id, table_name, code, disposition) values ('00000000-0000-0000-0000-000000000000', 'public.shq_error_log', 'X', 'IGNORE')", guard},

		// What is over stays over.
		{"update recoup.error set state = 'ACTIVE', disposition = 'RETRY', blocking = true where error_id = %resolved", guard},
		{"update recoup.error set state = 'RETRY_PENDING', disposition = 'RETRY', blocking = true where error_id = %resolved", guard},
		{"update recoup.error set resolved_by = 'someone else' where error_id = %resolved", guard},
		{"update recoup.error_archive set archive_reason = 'MANUAL' where error_id = %archived", privilege},
		{"delete from recoup.error_archive where error_id = %archived", privilege},
		{"insert into recoup.error select (jsonb_populate_record(null::recoup.error, to_jsonb(a) || '{\"state\": \"ACTIVE\", \"blocking\": true, \"historic\": false}')).* from recoup.error_archive a where error_id = %archived", guard},
		{"with gone as (delete from recoup.error where error_id = %resolved returning *) " + archiveOf(`{"archive_reason": "RESOLVED", "message": "rewritten"}`, "gone"), privilege},
		{"with gone as (delete from recoup.error where error_id = %resolved returning *) " + archiveOf("{}", "gone"), privilege}, // not as RESOLVED

		// A table's policy holds.
		{"update recoup.error set disposition = 'IGNORE', blocking = false where error_id = %open", guard},
		{"insert into recoup.error (table_name, entity_id, code, disposition) values ('outreach.dol_errors', 'e', 'X', 'IGNORE')", guard},
		{"insert into recoup.error (table_name, entity_id, code, disposition) values ('no.such_table', 'e', 'X', 'RETRY')", guard},
		{"update recoup.error set table_name = 'no.such_table' where error_id = %open", guard},
		{"update recoup.error_table set dispositions = '{IGNORE}'", privilege},
		{"delete from recoup.error_table", privilege},

		// The gate cannot be opened by hand.
		{"update recoup.error set blocking = false where error_id = %open", guard},
		{"update recoup.error set blocking = false where error_id = %parked", guard},
		{"update recoup.error set policy_version = 'nosuch' where error_id = %open", guard},
		{"update recoup.error set blocking = false, policy_version = 'nosuch' where error_id = %open", guard},
		{"update recoup.error set disposition = 'ARCHIVE', blocking = false where error_id = %open", guard}, // without its history
		{"update recoup.error set disposition = 'ARCHIVE', blocking = false, updated_at = now() where error_id = %open", guard},
		{"select recoup.promote_for('e', 'next', 'me', null, '00000000-0000-0000-0000-000000000000')", guard},
		{"insert into recoup.error (table_name, entity_id, code, disposition, blocking) values ('outreach.dol_errors', 'e', 'X', 'RETRY', false)", guard},
		{"insert into recoup.promotion values (gen_random_uuid(), 999, 'e-open', 'next', 'me', now())", privilege},
		{"update recoup.promotion set phase = 'x'", privilege},
		{"delete from recoup.promotion", privilege},
		{"insert into recoup.gate_entry (entity_id, error_id, blocks) values ('e-open', %open, false)", privilege},
		{"update recoup.gate_entry set blocks = false", privilege},
		{"delete from recoup.gate_entry", privilege},
		{"select setval('recoup.gate_seq', 1)", privilege},

		// What is kept for ever is kept as it is.
		{"update recoup.error set message = 'x' where error_id = %kept", guard},
		{"delete from recoup.error where error_id = %kept", privilege},
		{archiveOf("{}", "recoup.error") + " where error_id = %kept", privilege},

		// An error leaves its table only for the archive, and is never in both.
		{"delete from recoup.error where error_id = %open", privilege},
		{"delete from recoup.error", privilege},
		{archiveOf("{}", "recoup.error") + " where error_id = %open", privilege},
		{"with gone as (delete from recoup.error where error_id = %open returning *) " + archiveOf(`{"code": "ANOTHER"}`, "gone"), privilege},
		{"with gone as (delete from recoup.error where error_id = %open returning *) " + archiveOf(`{"entity_id": null}`, "gone"), privilege},
		{"with gone as (delete from recoup.error where error_id = %open returning *) " + archiveOf(`{"policy_version": null}`, "gone"), privilege},
		{"with gone as (delete from recoup.error where error_id = %open returning *) " + archiveOf(`{"replaceable": true}`, "gone"), privilege},
		{"with gone as (delete from recoup.error where error_id = %open returning *) " + archiveOf(`{"disposition": "ARCHIVE"}`, "gone"), privilege},                 // not its final one
		{"with gone as (delete from recoup.error where error_id = %open returning *) " + archiveOf(`{"archive_reason": "SUPERSEDED"}`, "gone"), privilege},           // by nothing
		{"with gone as (delete from recoup.error where error_id in (%open, %parked) returning *) " + archiveOf("{}", "gone") + " where error_id = %open", privilege}, // one of two is lost
		{"insert into recoup.error_archive (error_id, table_name, code, state, disposition, archived_at, archived_by, archive_reason, final_disposition, purge_at) values (gen_random_uuid(), 'outreach.dol_errors', 'X', 'ARCHIVED', 'RETRY', now(), 'me', 'BECAUSE', 'RETRY', now())", privilege},

		{"delete from recoup.gate_log", notUpdatable},
		{"update recoup.error_history set actor = 'nobody'", notUpdatable},

		// The one way into the archive refuses what is not allowed.
		{archive("%kept", `"table_name": "public.shq_master_error_log"`), guard},                                  // kept for ever
		{strings.Replace(archive("%open", `"archive_reason": "TTL_EXPIRED"`), "now()", "'2026-02-02'", 1), guard}, // not yet
		{archive("%open", `"table_name": "people.people_errors"`), guard},                                         // another error's
		{archive("%open", `"policy_version": "9.9.9"`), guard},                                                    // decided by another policy
		{archive("%open", `"kept_us": 86400000000`), guard},                                                       // too short
		{archive("%open", `"kept_us": null`), guard},                                                              // not at all
		{archive("%archived", ""), guard},                                                                         // it is there
		{archive("%open", `"archive_reason": "SUPERSEDED"`), check},                                               // by nothing
		{archive("%open", `"archive_reason": "RESOLVED"`), check},                                                 // it is not
		{archive("%resolved", ""), check},                                                                         // not as RESOLVED
		{archive("%open", `"archive_reason": "BECAUSE"`), check},                                                  //
		{archive("%open", `"input": null`), notNull},                                                              // without its history
		{"set recoup.acting = 'on'; delete from recoup.error where error_id = %open", privilege},

		// Only it, and recoup.settle, act without guards.
		{"set recoup.acting = 'on'; update recoup.error set state = 'RESOLVED', disposition = 'RESOLVED', blocking = false, resolved_at = now() where error_id = %open", guard},

		// Budgets and tiers.
		{"update recoup.error set retry_count = max_retries + 1 where error_id = %open", check},
		{"update recoup.error set retry_count = -1 where error_id = %open", check},
		{"update recoup.error set escalation_level = 4 where error_id = %parked", check},
		{"update recoup.error set state = 'PARKED', disposition = 'PARKED' where error_id = %open", check}, // no reason, no owner
		{"update recoup.error set state = 'RESOLVED' where error_id = %open", check},                       // half resolved
		{"update recoup.error set state = 'FORGOTTEN' where error_id = %open", check},

		// History is only ever added to.
		{"update recoup.transition set actor = 'nobody'", privilege},
		{"delete from recoup.transition", privilege},
		{"update recoup.transition_y2026m02 set actor = 'nobody'", privilege},
		{"delete from recoup.transition_y2026m02", privilege},
		{"insert into recoup.transition_y2026m02 overriding system value select * from recoup.transition", privilege},

		// Codes are permanent.
		{"update recoup.error_code set code = 'RENAMED'", guard},
		{"update recoup.error_code set created_at = now()", guard},
		{"delete from recoup.error_code", privilege},

		// Nothing is truncated, and no guard can be put away.
		{"truncate recoup.error", privilege},
		{"truncate recoup.error_archive", privilege},
		{"truncate recoup.transition", privilege},
		{"truncate recoup.transition_y2026m02", privilege},
		{"truncate recoup.error_code", privilege},
		{"truncate recoup.gate_entry", privilege},
		{"truncate recoup.promotion", privilege},
		{"alter table recoup.error disable trigger guard_update", privilege},
		{"alter table recoup.error drop constraint error_retry_budget", privilege},
		{"drop trigger guard_delete on recoup.error", privilege},
		{"drop table recoup.transition", privilege},
		{"drop view outreach.dol_errors", privilege},
		{"drop function recoup.forbid() cascade", privilege},
		{"create or replace function recoup.lock_stripes(entities text[]) returns void language sql as 'select'", privilege},
		{"create table recoup.mine (n int)", privilege},
		{"set session_replication_role = replica", privilege},
		{"set role recoup_owner", privilege},
		{"alter role recoup_app superuser", privilege},
	}
}

// archiveOf archives what a source has, with these fields of its own.
func archiveOf(fields, source string) string {
	return `insert into recoup.error_archive select (jsonb_populate_record(null::recoup.error_archive, to_jsonb(e)
		|| '{"state": "ARCHIVED", "blocking": false, "replaceable": false, "archived_at": "2026-02-02", "archived_by": "me",
			"archive_reason": "MANUAL", "purge_at": "2027-02-02"}' || jsonb_build_object('final_disposition', e.disposition)
		|| '` + fields + `')).* from ` + source + ` e`
}

// archive archives an error by the function for it, with these fields of its own.
func archive(id, fields string) string {
	if fields != "" {
		fields = ", " + fields
	}
	return `select recoup.archive(array[` + id + `]::uuid[], '{0}', null, ('[{"place": 0, "table_name": "outreach.dol_errors", "policy_version": "1.0.0",
		"archived_by": "me", "archive_reason": "MANUAL", "kept_us": 63072000000000, "input": "archive", "decided_by": "1.0.0"' || '` + fields + `}]')::jsonb, now(), '{}')`
}

func TestForbiddenActs(t *testing.T) {
	t.Parallel()
	s, owner, app := governed(t)
	owner.run("insert into recoup.error_code (code, domain, description) values ('NETWORK_TIMEOUT', 'runtime', 'x')")
	rows := tried(t, s)
	const picture = `select md5(string_agg(row::text, '|' order by row::text)) from (
		select to_jsonb(x) as row from recoup.error x union all select to_jsonb(x) from recoup.error_archive x
		union all select to_jsonb(x) from recoup.error_history x union all select to_jsonb(x) from recoup.gate_log x
		union all select to_jsonb(x) from recoup.promotion x union all select to_jsonb(x) from recoup.error_code x
		union all select to_jsonb(x) from recoup.error_table x) r`
	before := ask[string](owner, picture)
	for _, a := range forbiddenActs() {
		sql := rows.Replace(a.sql)
		if got := app.sqlState(sql); got != a.state {
			t.Errorf("%s\n  was refused with %s, want %s", sql, got, a.state)
		}
	}
	if ask[string](owner, picture) != before {
		t.Error("something has changed all the same")
	}
}

// Whoever owns the schema is held by the guards as well, if not by privileges.
func TestGuardsHoldTheOwner(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	rows := tried(t, s)
	for _, sql := range []string{
		"update recoup.transition set actor = 'nobody'", "delete from recoup.transition_y2026m02", "truncate recoup.transition",
		"update recoup.gate_entry set blocks = false", "delete from recoup.gate_entry", "truncate recoup.gate_entry",
		"update recoup.promotion set phase = 'x'", "truncate recoup.promotion",
		"update recoup.error_archive set message = 'x'", "truncate recoup.error_archive", "truncate recoup.error",
		"delete from recoup.error_code", "truncate recoup.error_code", "delete from recoup.error where error_id = %open",
	} {
		if got := owner.sqlState(rows.Replace(sql)); got != guard {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// What is allowed is allowed: the same rows, touched as the rules permit.
func TestAllowedActs(t *testing.T) {
	t.Parallel()
	s, _, app := governed(t)
	rows := tried(t, s)
	for _, sql := range []string{
		"update recoup.error set retry_count = max_retries where error_id = %open",
		"insert into recoup.transition (error_id, at, input, actor, state, blocking, policy_version) values (%open, '2026-02-20', 'archive', 'ada', 'RETRY_PENDING', false, '1.0.0')",
		"update recoup.error set disposition = 'ARCHIVE', blocking = false, updated_at = '2026-02-20' where error_id = %open",
		"update recoup.error set escalation_level = 3 where error_id = %parked",
		"insert into outreach.dol_errors (outreach_id, code) values ('e', 'X')",
		"delete from recoup.entity_streak",
		archive("%open", ""), archive("%parked", ""), archive("%resolved", `"archive_reason": "RESOLVED"`),
	} {
		app.run(rows.Replace(sql))
	}
}

// tried makes the rows that the acts are tried on.
func tried(t *testing.T, s *postgres.Store) placeholders {
	t.Helper()
	d := conformance.NewDriver(t, s)
	report := func(table, entity string) recoup.ID {
		return d.Report(table, entity, "NETWORK_TIMEOUT", recoup.Medium).ID
	}
	open, parked, resolved, kept, archived := report(dol, "e-open"), report(dol, "e-parked"), report(dol, "e-resolved"),
		report(masterLog, "e-kept"), report(dol, "e-archived")
	d.Wait(time.Minute)
	d.Park(parked, "look")
	d.Resolve(resolved)
	d.Apply(archived, lifecycle.ArchiveNow{By: "ada", Reason: "done"})
	if _, _, err := d.Promote("e-free"); err != nil {
		t.Fatal(err)
	}
	return placeholders{"%open": open, "%parked": parked, "%resolved": resolved, "%kept": kept, "%archived": archived}
}

// placeholders puts ids into plain SQL.
type placeholders map[string]recoup.ID

func (p placeholders) Replace(sql string) string {
	for name, id := range p {
		sql = strings.ReplaceAll(sql, name, "'"+id.String()+"'")
	}
	return sql
}
