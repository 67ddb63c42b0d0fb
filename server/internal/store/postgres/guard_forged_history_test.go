package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A node that was taken over holds the database's own clock and the policy on record
// against itself: here it is, with plain SQL and the rights of its role.

// timely is a database whose guards go by its own clock, and which has one error of each
// kind, made now.
func timely(t *testing.T) (ownerURL string, app prompt, rows placeholders) {
	t.Helper()
	ownerURL, appURL := pgtest.Migrated(t)
	s := open(t, appURL)
	d := conformance.NewDriver(t, s)
	app = at(t, appURL)
	d.WaitUntil(ask[time.Time](app, "select recoup.clock()"))
	rows = placeholders{"%open": d.Report(dol, "e-open", "NETWORK_TIMEOUT", recoup.Medium).ID}
	archived := d.Report(dol, "e-archived", "NETWORK_TIMEOUT", recoup.Medium).ID
	d.Archive(archived)
	rows["%archived"] = archived
	pgtest.HoldToClock(t, ownerURL)
	return ownerURL, app, rows
}

// resolve sets an error RESOLVED as a node does.
const resolve = `update recoup.error set state = 'RESOLVED', disposition = 'RESOLVED', blocking = false, replaceable = false, resolved_at = now(),
	resolved_by = 'ada', updated_at = now() where error_id = %open`

// history writes the history of that.
const history = `insert into recoup.transition (error_id, at, input, actor, state, policy_version)
	values (%open, now(), 'resolve', 'ada', 'RESOLVED', '1.0.0')`

func TestNoResolutionWithoutItsHistory(t *testing.T) {
	t.Parallel()
	_, app, rows := timely(t)
	if got := app.refusal(rows.Replace(resolve)); !strings.Contains(got, "together with the row of its history") {
		t.Errorf("without its history: %s", got)
	}
	if !ask[bool](app, "select recoup.is_blocked('e-open')") {
		t.Error("it blocks no more")
	}
	app.run("begin; " + rows.Replace(history) + "; " + rows.Replace(resolve) + "; commit")
	if ask[bool](app, "select recoup.is_blocked('e-open')") {
		t.Error("it blocks still")
	}
}

// The archive takes what leaves its table, now, for as long as the policy keeps it.
func TestNoForgedArchive(t *testing.T) {
	t.Parallel()
	_, app, rows := timely(t)
	long := `"kept_us": 94608000000000`
	for _, row := range []struct{ sql, why string }{
		{strings.Replace(archive("%open", long), "now()", "now() - interval '30 days'", 1), "archived now"},
		{archive("%open", `"kept_us": 86400000000`), "is kept for 365 days"},
		{archive("%open", `"policy_version": "9.9.9", "kept_us": 0`), "is kept for 365 days"},
		{archive("%open", `"policy_version": "9.9.9", `+long), "not what it was decided on"},
		{archive("%archived", long), "not what it was decided on"},
	} {
		if got := app.refusal(rows.Replace(row.sql)); !strings.Contains(strings.ReplaceAll(got, "8760:00:00", "365 days"), row.why) {
			t.Errorf("%s: %s", row.why, got)
		}
	}
	app.run(rows.Replace(archive("%open", long)))
	if n := ask[int](app, rows.Replace("select count(*) from recoup.error_history where error_id = %open and input = 'archive' and was_state = 'RETRY_PENDING'")); n != 1 {
		t.Errorf("%d rows tell of it", n)
	}
}

// What an older policy admitted is archived by that policy, and kept for no less than the
// shortest retention that its table ever had. A node can record the policies itself.
func TestNoForgedRetentionOfAnOlderPolicy(t *testing.T) {
	t.Parallel()
	ownerURL, app, rows := timely(t)
	record := "insert into recoup.policy_version (number, version, hash, text, added_at, added_by) values (%n, '%n.0.0', sha256('%n'), '', now(), 'mallory')"
	app.run(strings.ReplaceAll(record, "%n", "1"))
	app.run(strings.ReplaceAll(record, "%n", "2"))
	app.run(`select recoup.sync_table(jsonb_populate_record(t, '{"policy_version": "2.0.0", "retention": "800 days"}')) from recoup.error_table t where table_name = '` + dol + "'")
	for _, kept := range []string{"-1000000", "0", "31535999999999", "null"} {
		if got := app.refusal(rows.Replace(archive("%open", `"kept_us": `+kept))); !strings.Contains(strings.ReplaceAll(got, "8760:00:00", "365 days"), "is kept for 365 days") {
			t.Errorf("%s: %s", kept, got)
		}
	}
	app.run("select recoup.purge_archive(now() + interval '1 day', 10), recoup.purge_archive('infinity', 10)")
	if n := ask[int](app, "select count(*) from recoup.error_archive"); n != 1 {
		t.Errorf("%d archived errors are left", n)
	}
	app.run(rows.Replace(archive("%open", `"kept_us": 31536000000000`)))
	at(t, ownerURL).run("alter table recoup.error_archive disable trigger all")
	if got := at(t, ownerURL).sqlState("update recoup.error_archive set purge_at = archived_at - interval '1 second'"); got != "23514" {
		t.Errorf("the archive keeps an error for less than nothing: %s", got)
	}
}

// What was done is written down when it is done.
func TestNoForgedAudit(t *testing.T) {
	t.Parallel()
	_, app, rows := timely(t)
	for _, when := range []string{"now() - interval '1 day'", "now() + interval '1 day'"} {
		app.refusal("insert into recoup.audit (at, actor, act) values (" + when + ", 'ada', 'policy.add')")
		app.refusal(strings.Replace(rows.Replace(history), "now()", when, 1))
		app.refusal("select recoup.settle('{}', '{}', '[]', null, " + when + ")")
		app.refusal("insert into recoup.policy_version (number, version, hash, text, added_at, added_by) select coalesce(max(number), 0) + 1, '2.0.0', sha256('2'), '', " + when + ", 'ada' from recoup.policy_version")
		app.refusal("insert into recoup.api_key (key_id, name, role, key_hash, created_at, created_by) values (gen_random_uuid(), 'a', 'admin', sha256('a'), " + when + ", 'ada')")
	}
	app.run("insert into recoup.policy_version (number, version, hash, text, added_at, added_by) select coalesce(max(number), 0) + 1, '2.0.0', sha256('2'), '', now(), 'ada' from recoup.policy_version")
	app.run("insert into recoup.api_key (key_id, name, role, key_hash, created_at, created_by) values (gen_random_uuid(), 'a', 'admin', sha256('a'), now(), 'ada')")
	app.run("insert into recoup.audit (at, actor, act) values (now(), 'ada', 'policy.add')")
	for _, sql := range []string{
		"insert into recoup.audit (seq, at, actor, act) overriding system value values (999999, now(), 'ada', 'x')", "update recoup.audit set actor = 'bob'", "delete from recoup.audit",
	} {
		if got := app.sqlState(sql); got != privilege {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// Nothing goes before its retention is over by the database's clock, whatever time the
// caller gives.
func TestPurgesGoByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	ownerURL, app, _ := timely(t)
	app.run("select recoup.create_partition('error_event', (now() - interval '3 months')::date), recoup.create_partition('transition', (now() - interval '3 months')::date)")
	past := "(now() - interval '3 months')::date"
	purges := map[string]int{
		"select recoup.purge_archive('2999-01-01', 10)":                                          1,
		"select recoup.drop_partition('error_event', " + past + ")::int":                         1,
		"select recoup.drop_partition('transition', " + past + ")::int":                          1,
		"select recoup.purge_rollups('2999-01-01', '2999-01-01', 10)":                            2,
		"select recoup.purge_alerts('2999-01-01', 10) + recoup.purge_silences('2999-01-01', 10)": 0,
	}
	owner := at(t, ownerURL)
	owner.run(`insert into recoup.error_aggregate_hourly values (date_trunc('hour', now()), 's', 'C', 1, 1, now());
		insert into recoup.error_aggregate_daily values (current_date, 's', 'C', 1, 1, now())`)
	for sql := range purges {
		if n := ask[int](app, sql); n != 0 {
			t.Errorf("%s: %d", sql, n)
		}
	}
	pgtest.ShiftClock(t, ownerURL, 3*365*24*time.Hour)
	for sql, want := range purges {
		if n := ask[int](app, sql); n != want {
			t.Errorf("three years later %s: %d, want %d", sql, n, want)
		}
	}
}

// The mirror of the policy follows the policies on record, and nothing else.
func TestSyncTableGoesByTheRecord(t *testing.T) {
	t.Parallel()
	s, _, app := governed(t)
	p := policy.Default()
	_, _, err := s.AddPolicy(t.Context(), wire.PolicyVersion{Version: p.Version, Text: p.Text()}, store.Act{By: "ada", At: conformance.Epoch()})
	must(t, err)
	must(t, s.SyncTables(t.Context(), p, gatezero.SyncPolicy))
	sync := func(set string) string {
		return "select recoup.sync_table(jsonb_populate_record(t, '" + set + "')) from recoup.error_table t where table_name = '" + dol + "'"
	}
	for set, why := range map[string]string{
		`{"policy_version": "9.9.9"}`:                                "is not on record",
		`{"blocks": false}`:                                          "never changed",
		`{"retention": "1 second"}`:                                  "never changed",
		`{"ttl": null}`:                                              "never changed",
		`{"dispositions": ["IGNORE"]}`:                               "never changed",
		`{"table_name": "recoup.api_key", "archive_name": null}`:     "among our own",
		`{"table_name": "x.y", "archive_name": "pg_catalog.x"}`:      "among our own",
		`{"table_name": "x.y", "default_disposition": "RESOLVEDLY"}`: "not allowed",
		`{"retired": true}`:                                          "never changed",
		`{"orphans": true}`:                                          "never changed",
		`{"entity_required": false}`:                                 "never changed",
		`{"hub_name": "Another"}`:                                    "never changed",
		`{"source_rules": {"x": 1}}`:                                 "never changed",
		`{"table_name": "x.y", "archive_name": null}`:                "has no such table",
		`{"table_name": "pg_temp_30.y"}`:                             "among our own",
		`{"table_name": null}`:                                       "is missing",
		`{"policy_version": null}`:                                   "is missing",
	} {
		if got := app.refusal(sync(set)); !strings.Contains(got, why) {
			t.Errorf("%s: %s", set, got)
		}
	}
	app.run("select recoup.retire_tables('" + p.Version + "', '{}')")
	if n := ask[int](app, "select count(*) from recoup.error_table where retired"); n != 0 {
		t.Errorf("%d tables of the policy in force were retired", n)
	}
	for _, sql := range []string{
		"select recoup.sync_ledger('" + p.Version + "', '1 second', '1 second')",
		"select cl.sync_gate('" + p.Version + "', '{00:00:01}', '{TIMEOUT}', '1 second')",
	} {
		if got := app.refusal(sql); !strings.Contains(got, "never changed") {
			t.Errorf("%s: %s", sql, got)
		}
	}
	app.run("select recoup.sync_ledger('9.9.9', '1 second', '1 second'), cl.sync_gate('9.9.9', '{00:00:01}', '{TIMEOUT}', '1 second')")
	if !ask[bool](app, "select event_retention > interval '1 day' and (cl.gate_policy()).waits[1] > interval '1 hour' from recoup.ledger_policy") {
		t.Error("a policy that is not on record was followed")
	}
	app.run(sync("{}"))
	noNullPolicy(t, s, app)
}

// noNullPolicy tries what a policy that is missing, or a part of it, would undo.
func noNullPolicy(t *testing.T, s *postgres.Store, app prompt) {
	t.Helper()
	_, _, err := s.AddPolicy(t.Context(), wire.PolicyVersion{Version: "2.0.0", Text: "x"}, store.Act{By: "ada", At: conformance.Epoch()})
	must(t, err)
	for _, sql := range []string{
		"select recoup.sync_ledger(null, '1 microsecond', '1 microsecond')", "select cl.sync_gate(null, '{00:00:01}', '{TIMEOUT}', '1 second')",
		"select cl.sync_gate('2.0.0', '{NULL}', '{TIMEOUT}', '1 second')", "select cl.sync_gate('2.0.0', '{00:00:01}', '{NULL}', '1 second')",
		"select cl.sync_gate('2.0.0', null, '{TIMEOUT}', '1 second')", "select cl.sync_gate('2.0.0', '{00:00:01}', '{TIMEOUT}', null)",
		"select recoup.retire_tables(null, '{}')", "select recoup.retire_tables('2.0.0', null)", "select recoup.retire_tables('2.0.0', '{NULL}')", "select recoup.sync_table(null)",
	} {
		if got := app.refusal(sql); !strings.Contains(got, "missing") {
			t.Errorf("%s: %s", sql, got)
		}
	}
	if got := app.refusal("select recoup.sync_ledger('2.0.0', null, '1 day')"); !strings.Contains(got, "at most 1000 years") {
		t.Errorf("a ledger that keeps events for NULL: %s", got)
	}
	for _, sql := range []string{
		"recoup.purge_archive(null, null)", "recoup.purge_rollups(now(), null, 1)", "recoup.purge_replays(null, 1)", "recoup.purge_alerts(null, 1)",
		"recoup.purge_silences(now(), null)", "recoup.fold_rollups(null)", "recoup.is_blocked(null)", "recoup.take_turn(1, 'n', null)",
	} {
		if !ask[bool](app, "select "+sql+" is null") {
			t.Errorf("%s did something", sql)
		}
	}
}

// A promotion is dated by the database, and only nodes name somebody else.
func TestPromoteGoesByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	ownerURL, app, _ := timely(t)
	app.run("select recoup.promote_for('e-1', 'next', 'ada', '2020-01-01')")
	if !ask[bool](app, "select promoted_at > now() - interval '1 minute' and promoted_by = 'ada' from recoup.promotion") {
		t.Error("a promotion is dated as its caller likes")
	}
	writer := role(t, at(t, ownerURL), "recoup_writer")
	writer.run("select recoup.promote('e-2', 'next', 'somebody else')")
	if got := ask[string](app, "select promoted_by from recoup.promotion where entity_id = 'e-2'"); got != "recoup_writer" {
		t.Errorf("promoted by %s", got)
	}
	if got := writer.refusal("select recoup.promote('', 'next')"); !strings.Contains(got, "needs an entity") {
		t.Errorf("nothing was promoted: %s", got)
	}
}
