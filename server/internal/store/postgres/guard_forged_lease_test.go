package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// leased is a database whose guards go by its own clock, with a recovery that is due and
// that a worker holds.
func leased(t *testing.T) (ownerURL string, app prompt) {
	t.Helper()
	ownerURL, app = clocked(t)
	pgtest.ShiftClock(t, ownerURL, 25*time.Hour)
	app.run(`insert into cl.gate_zero_lease (recovery_id, token, worker, leased_at, ends_at)
		select recovery_id, gen_random_uuid(), 'w1', recoup.clock(), recoup.clock() + interval '5 minutes' from cl.gate_zero_recovery`)
	return ownerURL, app
}

// air writes a row of the AIR about the recovery.
func air(event string) string {
	return `insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, attempt_count, at)
		select intake_id, recovery_id, batch_id, '` + event + `', attempt_count, recoup.clock() from cl.gate_zero_recovery; `
}

const (
	lapse  = "update cl.gate_zero_lease set token = null, worker = null, leased_at = null, ends_at = null, lapses = lapses + 1; "
	revoke = "update cl.gate_zero_lease set token = null, worker = null, leased_at = null, ends_at = null; "
	kill   = "update cl.gate_zero_batch set killed_at = recoup.clock(), killed_by = 'ada'; "
	again  = `update cl.gate_zero_lease set token = gen_random_uuid(), worker = 'w2', leased_at = recoup.clock(), ends_at = recoup.clock() + interval '1 minute'; `
)

// The AIR has a row of an expired lease when one has expired, once.
func TestNoForgedLapse(t *testing.T) {
	t.Parallel()
	ownerURL, app := leased(t)
	for sql, why := range map[string]string{
		air("LAPSE"):         "no lease ran out that is not recorded yet",
		lapse + air("LAPSE"): "it has not run out",
		"update cl.gate_zero_lease set ends_at = leased_at + interval '1 second'; " + lapse + air("LAPSE"):                                      "only ever extended",
		"update cl.gate_zero_lease set lapses = 1; " + air("LAPSE"):                                                                             "it has not run out",
		"delete from cl.gate_zero_lease; insert into cl.gate_zero_lease (recovery_id, lapses) select recovery_id, 1 from cl.gate_zero_recovery": "none of it has run out",
		`delete from cl.gate_zero_lease; insert into cl.gate_zero_lease (recovery_id, token, leased_at, ends_at)
			select recovery_id, gen_random_uuid(), recoup.clock() - interval '1 hour', recoup.clock() from cl.gate_zero_recovery`: "it begins now",
		again: "a worker holds it",
	} {
		if got := app.refusal(sql); !strings.Contains(got, why) {
			t.Errorf("%s: %s", sql, got)
		}
	}
	pgtest.ShiftClock(t, ownerURL, 25*time.Hour+7*time.Minute)
	app.run("begin; " + lapse + air("LAPSE") + "commit")
	for sql, why := range map[string]string{
		air("LAPSE"):                               "no lease ran out that is not recorded yet",
		lapse + air("LAPSE"):                       "it has not run out",
		"delete from cl.gate_zero_lease":           "lapses are counted until an attempt is used",
		"update cl.gate_zero_lease set lapses = 0": "lapses are counted until an attempt is used",
		strings.Replace(air("LAPSE"), "attempt_count, recoup", "attempt_count - 1, recoup", 1): "no lease ran out that is not recorded yet",
	} {
		if got := app.refusal(sql); !strings.Contains(got, why) {
			t.Errorf("after it ran out, %s: %s", sql, got)
		}
	}
}

// The AIR has a row of a lease that the kill switch revoked when it has, once.
func TestNoForgedRevocation(t *testing.T) {
	t.Parallel()
	_, app := leased(t)
	for sql, why := range map[string]string{
		air("REVOKE"):          "the kill switch took no lease away that is not recorded yet",
		revoke + air("REVOKE"): "the kill switch took no lease away", // given back
		kill + air("REVOKE"):   "the kill switch took no lease away", // the worker holds it
		kill + revoke + air("REVOKE") + air("REVOKE"):                     "the kill switch took no lease away",
		"delete from cl.gate_zero_lease; " + kill + again + air("REVOKE"): "the kill switch took no lease away",
		revoke + kill + again: "its batch is stopped by the kill switch",
	} {
		if got := app.refusal(sql); !strings.Contains(got, why) {
			t.Errorf("%s: %s", sql, got)
		}
	}
	app.run("begin; " + kill + revoke + air("REVOKE") + "commit")
	if got := app.refusal(air("REVOKE")); !strings.Contains(got, "the kill switch took no lease away") {
		t.Errorf("notified again: %s", got)
	}
}

// A batch begins open.
func TestNoBatchIsBornFrozen(t *testing.T) {
	t.Parallel()
	_, app := clocked(t)
	for columns, why := range map[string]string{
		"completed_at, batch_freeze_at, frozen_at) values ('x', now() - interval '15 days', now() - interval '1 day', now()": "it begins open",
		"completed_at, batch_freeze_at) values ('x', now() - interval '15 days', now() - interval '1 day'":                   "it begins open",
		"completed_at, batch_freeze_at) values ('x', now(), now() + interval '14 days'":                                      "it begins open",
		"killed_at, killed_by) values ('x', now(), 'ada'":                                                                    "kill switch off",
	} {
		if got := app.refusal("insert into cl.gate_zero_batch (batch_id, " + columns + ")"); !strings.Contains(got, why) {
			t.Errorf("%s: %s", columns, got)
		}
	}
	app.run("insert into cl.gate_zero_batch (batch_id) values ('x')")
}
