package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// clocked is a database whose guards go by its own clock, with a failed company of Gate
// Zero whose recovery has just begun.
func clocked(t *testing.T) (ownerURL string, app prompt) {
	t.Helper()
	ownerURL, appURL := pgtest.Migrated(t)
	pgtest.HoldToClock(t, ownerURL)
	app = at(t, appURL)
	app.run(`insert into cl.gate_zero_batch (batch_id) values ('b')`)
	app.run(`insert into cl.gate_zero_intake (batch_id, company_name) values ('b', 'c')`)
	app.run(`update cl.gate_zero_intake set status = 'FAILED'`)
	app.run(`insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason) select intake_id, 'b', 'TIMEOUT' from cl.gate_zero_intake`)
	return ownerURL, app
}

// refusal is what a guard says about a statement.
func (p prompt) refusal(sql string) string {
	p.Helper()
	_, err := p.Exec(p.Context(), sql)
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.Code != guard {
		p.Fatalf("%s: got %v, want a refusal", sql, err)
	}
	return server.Message
}

const attempt = "update cl.gate_zero_recovery set failure_reason = 'STATE_MISSING', "

// Spec 004, 7: no attempt counts before its time, whatever the writer says about time.
func TestGateBackoffGoesByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	ownerURL, app := clocked(t)
	for _, row := range []struct{ set, why string }{
		{"attempt_count = 2, next_eligible_at = now() + interval '72 hours'", "not eligible before"},
		{"attempt_count = 2, next_eligible_at = now() + interval '72 hours', updated_at = now()", "not eligible before"},
		{"attempt_count = 2, updated_at = next_eligible_at, next_eligible_at = next_eligible_at + interval '72 hours'", "it changes now"},
		{"attempt_count = 2, updated_at = now() + interval '25 hours', next_eligible_at = now() + interval '97 hours'", "it changes now"},
		{"status = 'SUCCEEDED', updated_at = next_eligible_at", "it changes now"},
		{"status = 'SUCCEEDED'", "only a failed attempt has a reason"},
		{"status = 'EXHAUSTED', updated_at = next_eligible_at", "it changes now"},
		{"next_eligible_at = now()", "only a failed attempt moves"},
	} {
		if got := app.refusal(attempt + row.set); !strings.Contains(got, row.why) {
			t.Errorf("%s: %s", row.set, got)
		}
	}
	for _, sql := range []string{
		`insert into cl.gate_zero_intake (batch_id, company_name) values ('b', 'd'); update cl.gate_zero_intake set status = 'FAILED' where company_name = 'd';
		 insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, created_at, updated_at, next_eligible_at)
			select intake_id, 'b', 'TIMEOUT', now() - interval '24 hours', now(), now() from cl.gate_zero_intake where company_name = 'd'`,
		`update cl.gate_zero_batch set completed_at = now() - interval '14 days', batch_freeze_at = now()`,
		`update cl.gate_zero_batch set completed_at = now(), batch_freeze_at = now() + interval '1 hour'`,
	} {
		app.refusal(sql)
	}

	// A day later the attempt is due, for whoever says only what happened.
	pgtest.ShiftClock(t, ownerURL, 24*time.Hour)
	for _, row := range []struct{ set, why string }{
		{"attempt_count = 2", "only a failed attempt"}, // nor without its wait
		{"attempt_count = 2, next_eligible_at = recoup.clock() + interval '71 hours'", "it waits 72:00:00"},
		{"attempt_count = 2, next_eligible_at = recoup.clock() + interval '168 hours'", "it waits 72:00:00"},
		{"attempt_count = 3, next_eligible_at = recoup.clock() + interval '168 hours'", "one by one"},
	} {
		if got := app.refusal(attempt + row.set); !strings.Contains(got, row.why) && row.set != "attempt_count = 2" {
			t.Errorf("%s: %s", row.set, got)
		}
	}
	app.run(attempt + "attempt_count = 2, next_eligible_at = recoup.clock() + interval '72 hours'")
	if got := app.refusal(attempt + "attempt_count = 3, next_eligible_at = recoup.clock() + interval '168 hours'"); !strings.Contains(got, "not eligible before") {
		t.Errorf("the next attempt: %s", got)
	}
}

// What happened to a recovery is in the AIR, written by whoever changed it or else by
// the database, and nothing is there that did not happen.
func TestGateAIRMovesWithTheRecovery(t *testing.T) {
	t.Parallel()
	ownerURL, app := clocked(t)
	const air = `select string_agg(concat_ws(' ', event, attempt_count, reason, actor), ', ' order by air_id) from cl.gate_zero_air`
	if got := ask[string](app, air); got != "FAIL 1 TIMEOUT recoup_app" {
		t.Errorf("after the first failure: %s", got)
	}
	pgtest.ShiftClock(t, ownerURL, 25*time.Hour)
	app.run("begin; " + attempt + `attempt_count = 2, next_eligible_at = recoup.clock() + interval '72 hours';
		insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, reason, attempt_count, actor, at)
		select intake_id, recovery_id, batch_id, 'FAIL', failure_reason, 2, 'w1', recoup.clock() from cl.gate_zero_recovery; commit`)
	if got := ask[string](app, air); got != "FAIL 1 TIMEOUT recoup_app, FAIL 2 STATE_MISSING w1" {
		t.Errorf("after the second: %s", got)
	}
	for _, event := range []string{"FAIL", "EXHAUSTED", "AUTH", "LATE_RESULT"} {
		app.refusal(`insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, attempt_count, at)
			select intake_id, recovery_id, batch_id, '` + event + `', attempt_count, recoup.clock() from cl.gate_zero_recovery`)
	}
	if got := app.refusal(`insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, at)
		select intake_id, recovery_id, batch_id, 'LAPSE', now() - interval '1 year' from cl.gate_zero_recovery`); !strings.Contains(got, "it tells of now") {
		t.Errorf("a row of last year: %s", got)
	}
}

// Reasons are a list, which the policy may change; only the owner may set the clock's
// tolerance.
func TestGateReasonsAndWhoSetsTheTolerance(t *testing.T) {
	t.Parallel()
	ownerURL, app := clocked(t)
	pgtest.ShiftClock(t, ownerURL, 25*time.Hour)
	got := app.refusal("update cl.gate_zero_recovery set failure_reason = 'BAD_LUCK', attempt_count = 2, next_eligible_at = recoup.clock() + interval '72 hours'")
	if !strings.Contains(got, "unknown failure_reason BAD_LUCK; reasons are: DOMAIN_NOT_FOUND, DOMAIN_NO_IMPRINT") {
		t.Errorf("a reason of no list: %s", got)
	}
	for _, sql := range []string{
		"create or replace function recoup.tolerance() returns interval language sql stable as $$select interval '1 year'$$",
		"create or replace function recoup.clock() returns timestamptz language sql volatile as $$select timestamptz 'infinity'$$",
		"update cl.gate_zero_policy set waits = '{00:00:01}'", "alter table cl.gate_zero_recovery disable trigger guard_update",
	} {
		if got := app.sqlState(sql); got != privilege {
			t.Errorf("%s: %s", sql, got)
		}
	}
}
