package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/policy"
	features "github.com/recoup-dev/recoup/server/internal/slices"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// healthy are the options of a node that nothing is wrong with.
func healthy(t *testing.T, database string) app.Options {
	t.Helper()
	text, err := policy.Starter(policy.Start{Table: "app.errors", Entity: "order_id"})
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "\ndead_tables:\n  legacy.failed_imports: nobody reads it\n"...)
	return app.Options{Database: database, First: text, MasterKey: bytes.Repeat([]byte{7}, 32), Slices: features.All()}
}

// drive keeps a node busy: errors that are retried, parked and resolved, a gate that is
// passed and one that is not, staged work, a dead letter with a payload, and events.
func drive(t *testing.T, n *live.Node) {
	t.Helper()
	c, ctx := n.Client(), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		code := []string{"NETWORK_TIMEOUT", "VALIDATION_ERROR", "MY_OWN_CODE", "DATABASE_TIMEOUT"}[i%4]
		got, err := c.Report(ctx, recoup.Report{Table: "app.errors", EntityID: fmt.Sprintf("order-%d", i), Code: code, Message: "it failed"})
		must(err)
		switch {
		case got.Error.State == recoup.Parked && i%3 == 0:
			_, err = c.Errors.Unpark(ctx, got.Error.ID, recoup.Act{Reason: "try again"})
		case i%7 == 0:
			_, err = c.Errors.Resolve(ctx, got.Error.ID, recoup.Act{Reason: "done by hand"})
		}
		must(err)
	}
	claimed, err := c.Retries.Claim(ctx, recoup.RetryClaim{Worker: "w", Limit: 10, WaitSeconds: 5})
	must(err)
	for i := range claimed {
		r := recoup.RetryResult{ErrorID: claimed[i].ID, LeaseToken: claimed[i].LeaseToken}
		if i%2 == 0 {
			_, err = c.Retries.Succeed(ctx, r)
		} else {
			r.Code = "NETWORK_TIMEOUT"
			_, err = c.Retries.Fail(ctx, r)
		}
		must(err)
	}
	_, err = c.Promote(ctx, recoup.Promotion{EntityID: "order-unknown", Phase: "ship"})
	must(err)
	now := time.Now()
	_, err = c.DeadLetters.Record(ctx, recoup.StageFailure{WorkID: recoup.ID{9, 15: 1}, Pipeline: "images", Stage: "resize", Class: "VALIDATION_ERROR", LastStack: "none", Context: map[string]any{"attempts": map[string]any{"resize": 1}},
		FirstFailureAt: now, LastFailureAt: now, Payload: []byte("a picture"), EntityID: "order-1"})
	must(err)
	_, err = c.Work.Submit(ctx, []recoup.NewWorkItem{{Pipeline: "images", Stage: "fetch", Payload: []byte("another"), DelaySeconds: 3600}})
	must(err)
	awaitJobs(t, c, func(jobs wire.Jobs) bool {
		return !slices.ContainsFunc(jobs.Jobs, func(j wire.Job) bool { return j.FinishedAt.IsZero() })
	})
}

// awaitJobs waits until the jobs are as wanted. It pauses between its requests, so that it
// stays below the rate limit of its key.
func awaitJobs(t *testing.T, c *client.Client, wanted func(wire.Jobs) bool) {
	t.Helper()
	for {
		jobs, err := adminapi.New(c).Jobs.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if wanted(jobs) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// examine looks at a database without a node.
func examine(t *testing.T, o app.Options) wire.Diagnosis {
	t.Helper()
	d, err := app.OpenDoctor(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	found, err := d.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return found
}

// fix lets the doctor fix what is safe.
func fix(t *testing.T, o app.Options) []wire.Finding {
	t.Helper()
	d, err := app.OpenDoctor(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := d.Fix(t.Context())
	if err != nil {
		t.Errorf("it cannot be fixed: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return fixed
}

// planted is an ill of a database.
type planted struct {
	name    string
	as      string   // who plants it: app's owner, or super
	plant   []string // by plain SQL
	check   string
	subject string
	worst   wire.FindingSeverity
	safe    bool   // --fix mends it
	fix     string // a part of the command
}

const owner, super = "owner", "super"

// unguarded plants rows that guards would refuse.
func unguarded(statements ...string) []string {
	return append([]string{"set session_replication_role = replica"}, statements...)
}

// adopted is the record of an adoption of shop.rejects, with a role that can log in.
func adopted(state, since string) string {
	return fmt.Sprintf(`with a as (insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, state, begun_at, begun_by)
		values ('app.errors', 'shop.rejects', 'shop.rejects'::regclass, current_user, '{id}', '{"entity": "order_id"}', '%s', %s, 'ada') returning adoption_id)
		insert into recoup.adoption_login (adoption_id, role) select adoption_id, 'recoup_app' from a`, state, since)
}

// restored is an adopted table whose triggers act as somebody without privileges.
func restored() []string {
	list := []string{"create role shop", "create schema shop", "create table shop.rejects (id bigint primary key, order_id text)", "alter table shop.rejects owner to shop",
		strings.Replace(adopted("GOVERNED", "now()"), "current_user", "'shop'", 1), "select recoup.watch_errors()",
		"create view recoup.adopted_1_recoup_release_first as select id, order_id from shop.rejects",
		"set role recoup_owner", "select recoup.bind_adoption(1)", "reset role"}
	for _, what := range []string{"read", "scan"} {
		list = append(list, fmt.Sprintf("create function recoup.adopted_1_%s() returns void language sql as 'select'", what),
			fmt.Sprintf("revoke execute on function recoup.adopted_1_%s() from public", what), fmt.Sprintf("grant execute on function recoup.adopted_1_%s() to recoup_app", what))
	}
	for _, t := range []struct{ what, event, enable string }{
		{"insert", "insert on shop.rejects for each statement", "always"},
		{"update", "update on shop.rejects for each statement", "always"},
		{"delete", "delete on shop.rejects for each statement", "always"},
		{"truncate", "truncate on shop.rejects for each statement", "always"},
		{"replicated", "insert or update or delete on shop.rejects for each row", "replica"},
	} {
		what := t.what
		list = append(list,
			fmt.Sprintf("create function recoup.adopted_1_%s() returns trigger language plpgsql security definer as 'begin insert into recoup.adopted_change (adoption_id) values (1); return null; end'", what),
			fmt.Sprintf("alter function recoup.adopted_1_%s() owner to shop", what), fmt.Sprintf("revoke execute on function recoup.adopted_1_%s() from public", what),
			fmt.Sprintf("create trigger adopted_1_%[1]s after %[2]s execute function recoup.adopted_1_%[1]s()", what, t.event),
			fmt.Sprintf("alter table shop.rejects enable %s trigger adopted_1_%s", t.enable, what))
	}
	return list
}

func postgresIlls() []planted {
	const id = "'0198f2a4-7c31-7b4e-9d52-5a1f0c3e8b67'"
	someError := "(select error_id from recoup.error where state = 'RETRY_PENDING' order by error_id limit 1)"
	return []planted{
		{"name taken", owner, []string{"drop view app.errors", "create table app.errors (id bigint primary key, order_id text)"}, "tables", "app.errors", wire.FindingWarning, false, "recoup adopt app.errors --entity order_id"},
		{"name missing", owner, []string{"drop view app.errors"}, "tables", "app.errors", wire.FindingWarning, true, "recoup doctor --fix"},
		{"dead table", owner, []string{"create schema legacy", "create table legacy.failed_imports (id int)"}, "dead-tables", "legacy.failed_imports", wire.FindingNote, false, "recoup adopt legacy.failed_imports"},
		{"adopted, without triggers", owner, []string{"create schema shop", "create table shop.rejects (id bigint primary key, order_id text)", adopted("GOVERNED", "now()")},
			"adoptions", "shop.rejects", wire.FindingCritical, true, "recoup doctor --fix"},
		{"adopted, and restored without privileges", super, restored(), "adoptions", "shop.rejects", wire.FindingCritical, true,
			"grant insert (adoption_id, keys, numbers, uuids, entities) on recoup.adopted_change to shop"},
		{"half adopted", owner, []string{"create schema shop", "create table shop.rejects (id bigint primary key, order_id text)", adopted("ADOPTING", "now() - interval '2 hours'")},
			"adoptions", "shop.rejects", wire.FindingWarning, false, "recoup adopt shop.rejects --apply"},
		{"adopted and dropped", owner, []string{"create schema shop", "create table shop.rejects (id bigint primary key, order_id text)", adopted("GOVERNED", "now()"), "drop table shop.rejects"},
			"adoptions", "shop.rejects", wire.FindingWarning, false, "recoup adopt release shop.rejects"},
		{"ungoverned table", owner, []string{"create schema shop", "create table shop.payment_failures (id bigint primary key, customer_id bigint, error_message text, created_at timestamptz)"},
			"ungoverned", "shop.payment_failures", wire.FindingNote, false, "recoup adopt shop.payment_failures --entity customer_id"},
		{"ungoverned queue", owner, []string{"create schema shop", presettest.Queues[0].DDL}, "ungoverned", "shop.river_job", wire.FindingNote, false, "recoup adopt shop.river_job --preset river"},
		{"guard missing", owner, []string{"drop trigger forbidden on recoup.promotion"}, "triggers", "trigger forbidden on recoup.promotion", wire.FindingCritical, true, "CREATE TRIGGER forbidden"},
		{"trigger that is not Recoup's", owner, []string{"create trigger evil before update on recoup.audit for each row execute function suppress_redundant_updates_trigger()"},
			"triggers", "trigger evil on recoup.audit", wire.FindingWarning, false, "drop trigger evil on recoup.audit"},
		{"guard disabled", owner, []string{"alter table recoup.audit disable trigger forbidden"}, "triggers", "trigger forbidden on recoup.audit", wire.FindingCritical, true, "enable trigger forbidden"},
		{"guard replaced", owner, []string{"drop trigger forbidden on recoup.gate_entry", "create trigger forbidden before delete on recoup.gate_entry for each statement execute function recoup.forbid()"},
			"triggers", "trigger forbidden on recoup.gate_entry", wire.FindingCritical, true, "drop trigger"},
		{"function replaced", owner, []string{"create or replace function recoup.forbid() returns trigger language plpgsql as 'begin return new; end'"},
			"functions", "function recoup.forbid()", wire.FindingCritical, true, "--fix"},
		{"default changed", owner, []string{"alter table recoup.error alter column retry_count set default 7"}, "schema", "column recoup.error.retry_count", wire.FindingWarning, true, "set default 0"},
		{"column changed", owner, []string{"alter table recoup.error alter column code drop not null"}, "schema", "column recoup.error.code", wire.FindingWarning, false, ""},
		{"constraint missing", owner, []string{"alter table recoup.error drop constraint error_parked_by"}, "constraints", "constraint error_parked_by on recoup.error", wire.FindingWarning, false, "add constraint error_parked_by"},
		{"index missing", owner, []string{"drop index recoup.error_expiry_idx"}, "indexes", "index recoup.error_expiry_idx", wire.FindingWarning, true, "CREATE INDEX CONCURRENTLY error_expiry_idx"},
		{"index invalid", super, []string{"update pg_index set indisvalid = false where indexrelid = 'recoup.due_idx'::regclass"}, "indexes", "index recoup.due_idx", wire.FindingWarning, true, "reindex index concurrently"},
		{"privilege lost", owner, []string{"revoke insert on recoup.error from recoup_app"}, "grants", "recoup_app on recoup.error", wire.FindingWarning, true, "recoup migrate up"},
		{"privilege too many", owner, []string{"grant delete on recoup.error to recoup_app"}, "grants", "recoup_app on recoup.error", wire.FindingWarning, false, "revoke delete on table recoup.error from recoup_app"},
		{"trigger function of everyone", owner, []string{"grant execute on function cl.recovery_told() to public"}, "grants", "public on cl.recovery_told()", wire.FindingCritical, true, "revoke execute on function cl.recovery_told() from public"},
		{"trigger function of another role", owner, []string{"grant execute on function recoup.error_plain() to pg_monitor"}, "grants", "pg_monitor on recoup.error_plain()", wire.FindingCritical, true, "revoke execute"},
		{"function too many", owner, []string{"grant execute on function recoup.archive(uuid[],int[],uuid[],jsonb,timestamptz,uuid[]) to recoup_reader"}, "grants", "recoup_reader on recoup.archive(uuid[],integer[],uuid[],jsonb,timestamp with time zone,uuid[])", wire.FindingWarning, true, "recoup migrate up"},
		{"lock of everyone", owner, []string{"grant select on recoup.turn_lock to public"}, "grants", "public on recoup.turn_lock", wire.FindingWarning, false, "revoke select on table recoup.turn_lock from public"},
		{"reader may write", owner, []string{"grant update on recoup.error_archive to recoup_reader"}, "grants", "recoup_reader on recoup.error_archive", wire.FindingWarning, false, "revoke update"},
		{"keys of another role", owner, []string{"grant select on recoup.api_key to pg_monitor"}, "other-roles", "pg_monitor on table recoup.api_key", wire.FindingCritical, false, "revoke select on table recoup.api_key from pg_monitor"},
		{"errors written by another role", owner, []string{"grant insert, select on recoup.error to pg_monitor"}, "other-roles", "pg_monitor on table recoup.error", wire.FindingWarning, false, "revoke insert, select on table recoup.error from pg_monitor"},
		{"schema of another role", owner, []string{"grant usage on schema recoup to pg_monitor"}, "other-roles", "pg_monitor on schema recoup", wire.FindingNote, false, "revoke usage on schema recoup from pg_monitor"},
		{"default privileges", owner, []string{"alter default privileges grant select on tables to pg_monitor"}, "other-roles", "default privileges on tables", wire.FindingWarning, false, "revoke all on tables from pg_monitor"},
		{"view of another role", super, []string{"create view public.keep as select from recoup.error"}, "dependents", "view public.keep", wire.FindingNote, false, "drop view public.keep"},
		{"row security half on", owner, []string{"select recoup.enable_row_security()", "alter table recoup.due disable row level security"}, "row-security", "table recoup.due", wire.FindingCritical, true, "enable_row_security"},
		{"partition missing ahead", owner, []string{"do $$ begin execute format('drop table recoup.transition_y%sm%s', to_char(now() at time zone 'UTC' + interval '1 month', 'YYYY'), to_char(now() at time zone 'UTC' + interval '1 month', 'MM')); end $$"},
			"partitions", "recoup.transition_y", wire.FindingWarning, true, "recoup jobs run partitions"},
		{"partition not attached", owner, []string{"create table recoup.error_event_y2020m01 (like recoup.error_event including defaults)"}, "partitions", "recoup.error_event_y2020m01", wire.FindingWarning, false, "attach partition"},
		{"partition unguarded", owner, []string{"create table recoup.error_event_y2020m01 partition of recoup.error_event for values from ('2020-01-01 00:00:00+00') to ('2020-02-01 00:00:00+00')"},
			"partitions", "recoup.error_event_y2020m01", wire.FindingCritical, true, "--fix"},
		{"rows in a default partition", owner, []string{"create table recoup.transition_rest partition of recoup.transition default",
			"create trigger forbidden before update or delete on recoup.transition_rest for each statement execute function recoup.forbid()",
			"create trigger forbidden_truncate before truncate on recoup.transition_rest for each statement execute function recoup.forbid()",
			"alter table recoup.transition disable trigger guard_insert",
			"insert into recoup.transition (error_id, at, input, actor, policy_version, state) values (" + id + ", '2019-01-01', 'report', 'x', '1', 'ACTIVE')",
			"alter table recoup.transition enable trigger guard_insert"}, "partitions", "recoup.transition_rest", wire.FindingWarning, false, ""},
		{"error without an end", super, unguarded("update recoup.error set expires_at = null, next_retry_at = null, next_escalation_at = null, review_due_at = null, assigned_to = null, escalated_to = null where error_id = " + someError), "rows", "errors without an end", wire.FindingCritical, false, "recoup errors resolve 0"},
		{"error outside the queue", super, unguarded("delete from recoup.due where error_id = " + someError), "rows", "errors outside the queue", wire.FindingCritical, true, "recoup doctor --fix"},
		{"orphan in the queue", super, unguarded("insert into recoup.due (error_id, table_name, policy_version, due_at) values (" + id + ", 'app.errors', '1', now() + interval '1 day')"), "rows", "orphans in the queue", wire.FindingWarning, true, ""},
		{"gate log lacks an error", super, unguarded("delete from recoup.gate_entry where error_id = (select error_id from recoup.error where blocking order by error_id limit 1)"), "rows", "gate log", wire.FindingCritical, false, ""},
		{"counts wrong", super, unguarded("insert into recoup.error_count (table_name, state, n) values ('app.errors', 'PARKED', 5)"), "rows", "counts", wire.FindingWarning, false, ""},
		{"archive past its retention", super, unguarded("insert into recoup.error_archive select (jsonb_populate_record(null::recoup.error_archive, to_jsonb(e) || jsonb_build_object('error_id', " + id + ", 'state', 'ARCHIVED', 'blocking', false, 'replaceable', false, 'archived_at', now() - interval '400 days', 'archived_by', 'x', 'archive_reason', 'MANUAL', 'final_disposition', e.disposition, 'purge_at', now() - interval '5 days', 'was_state', 'PARKED', 'was_blocking', false, 'end_seq', 1, 'end_input', 'archive', 'end_policy', '1'))).* from recoup.error e where state <> 'RESOLVED' limit 1"),
			"rows", "archive", wire.FindingWarning, false, "recoup jobs run archive"},
		{"code not registered", super, unguarded("delete from recoup.error_code where code = 'NETWORK_TIMEOUT'"), "rows", "codes", wire.FindingWarning, false, "recoup codes add NETWORK_TIMEOUT"},
		{"dead letter without its error", super, unguarded("insert into recoup.dead_letter select (jsonb_populate_record(null::recoup.dead_letter, to_jsonb(d) || jsonb_build_object('error_id', " + id + ", 'work_id', " + id + "))).* from recoup.dead_letter d limit 1"),
			"rows", "dead letters", wire.FindingCritical, false, ""},
		{"payload key gone", super, unguarded("update recoup.work_payload set key_id = 'gone' where work_id = (select work_id from recoup.work_payload limit 1)"), "rows", "payload keys", wire.FindingCritical, false, "recoup keys payload list"},
		{"row not admitted", super, unguarded("update recoup.error set policy_version = null, created_at = now() - interval '1 hour' where error_id = (select error_id from recoup.error where state <> 'RESOLVED' limit 1)"), "rows", "rows of plain SQL", wire.FindingWarning, false, "recoup jobs list"},
		{"notification given up", super, unguarded("insert into recoup.outbox (kind, recipient, created_at, given_up_at, last_error) values ('PARKED', 'team', now(), now(), 'no such host')"), "rows", "undeliverable notifications", wire.FindingWarning, false, "recoup notifications resend --given-up"},
		{"outbox stuck", super, unguarded("insert into recoup.outbox (kind, recipient, created_at, due_at) values ('PARKED', 'team', now(), now() - interval '1 hour')"), "outbox", "outbox", wire.FindingWarning, false, "recoup notifications list"},
		{"job fails", super, unguarded("update recoup.job set error = 'the disk is full' where name = 'ttl'"), "jobs", "job ttl", wire.FindingWarning, false, "recoup jobs run ttl"},
		{"jobs stopped", super, unguarded("update recoup.job set started_at = started_at - interval '30 days', finished_at = finished_at - interval '30 days'"), "jobs", "scheduled jobs", wire.FindingWarning, false, "recoup jobs list"},
		{"autovacuum off for a table", owner, []string{"alter table recoup.due set (autovacuum_enabled = off)"}, "vacuum", "table recoup.due", wire.FindingWarning, true, "reset (autovacuum_enabled)"},
		{"synchronous_commit off", owner, []string{"do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$"}, "durability", "synchronous_commit", wire.FindingCritical, false, "reset synchronous_commit"},
		{"read-only by default", super, []string{"do $$ begin execute format('alter role recoup_app in database %I set default_transaction_read_only = on', current_database()); end $$"}, "settings", "default_transaction_read_only", wire.FindingCritical, false, "reset default_transaction_read_only"},
		{"too few sessions", owner, []string{"do $$ begin execute format('alter database %I connection limit 5', current_database()); end $$"}, "connections", "database ", wire.FindingWarning, false, "connection limit -1"},
		{"key without an end", super, unguarded("insert into recoup.api_key (key_id, name, role, key_hash, created_at, created_by) values (" + id + ", 'forever', 'reader', sha256('x'), now(), 'sql')"), "keys", "key forever", wire.FindingWarning, false, "recoup keys rotate"},
		{"no admin", super, unguarded("update recoup.api_key set revoked_at = now(), revoked_by = 'sql'"), "keys", "admin key", wire.FindingWarning, false, "recoup keys create --role admin"},
		{"platform key in plaintext", super, unguarded("update recoup.platform_key set wrapped_by = null where key_id = (select min(key_id) from recoup.platform_key)"), "encryption", "platform keys", wire.FindingNote, false, "master-key-file"},
		{"schema behind", super, unguarded("delete from recoup.schema_version where version_id = (select max(version_id) from recoup.schema_version)"), "migrations", "schema", wire.FindingCritical, false, "recoup migrate up"},
	}
}

// share is a third of the ills, or all of them with RECOUP_SOAK=1.
func share(all []planted) (list []planted) {
	for i := range all {
		if i%3 == 0 || os.Getenv("RECOUP_SOAK") != "" {
			list = append(list, all[i])
		}
	}
	return list
}

// As postgres, of the same database.
func superuser(address string) string {
	u, _ := url.Parse(address)
	u.User = url.User("postgres")
	return u.String()
}

func execute(t *testing.T, address string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestDoctorOnPostgres plants one ill after the other (51 with RECOUP_SOAK=1, else a third
// of them) into copies of a busy database, and wants exactly that one found, with its command; what is said to be safe to fix is gone
// after --fix. On the database as it was, nothing is found.
func TestDoctorOnPostgres(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"fsync=on", "full_page_writes=on", "archive_mode=on", "archive_command=/bin/true"}})
	base, app1 := server.Migrated(t)
	pgtest.HoldToClock(t, base)
	execute(t, superuser(base), "revoke create on schema public from public") // which PostgreSQL 13 and 14 grant
	node := live.Start(t, healthy(t, app1))
	for _, f := range examine(t, healthy(t, base)).Findings {
		t.Errorf("on a fresh database it found: %+v", f)
	}
	drive(t, node)
	for _, f := range examine(t, healthy(t, base)).Findings {
		t.Errorf("after a busy run it found: %+v", f)
	}
	if found, err := adminapi.New(node.Client()).System.Doctor(t.Context()); err != nil || !found.Healthy() {
		t.Errorf("through the server: %+v, %v", found, err)
	}
	node.Stop()
	name, _ := url.Parse(base)
	for i, ill := range share(postgresIlls()) {
		t.Run(ill.name, func(t *testing.T) {
			copied := *name
			copied.Path = fmt.Sprintf("/ill_%d", i)
			admin := *name
			admin.Path = "/postgres"
			execute(t, superuser(admin.String()), fmt.Sprintf("create database ill_%d owner recoup_owner template %s", i, strings.TrimPrefix(name.Path, "/")))
			t.Cleanup(func() { drop(t, superuser(admin.String()), fmt.Sprintf("ill_%d", i)) })
			by := copied.String()
			if ill.as == super {
				by = superuser(by)
			}
			execute(t, by, ill.plant...)
			judge(t, ill, healthy(t, copied.String()))
		})
	}
}

func drop(t *testing.T, admin, database string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(context.Background(), "drop database "+database+" with (force)"); err != nil {
		t.Error(err)
	}
}

// judge wants an ill found, and nothing else, and fixed if that is said to be safe.
func judge(t *testing.T, ill planted, o app.Options) {
	t.Helper()
	found := examine(t, o).Findings
	if len(found) != 1 {
		t.Fatalf("found %d ills: %+v", len(found), found)
	}
	f := found[0]
	if f.Check != ill.check || !strings.HasPrefix(f.Subject, ill.subject) || f.Severity != ill.worst || f.Safe != ill.safe || !strings.Contains(f.Fix, ill.fix) || f.Evidence == "" {
		t.Errorf("found %+v", f)
	}
	if !ill.safe {
		return
	}
	if fixed := fix(t, o); len(fixed) != 1 {
		t.Errorf("fixed %+v", fixed)
	}
	if left := examine(t, o).Findings; len(left) > 0 {
		t.Errorf("after --fix it found %+v", left)
	}
}
