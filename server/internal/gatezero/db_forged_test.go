package gatezero_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// What somebody with the file and a prompt could write of Gate Zero that did not happen.
// There is no clock that a writer could not set, and so no guard of when.
func TestNoForgedGate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recoup.db")
	openSQLite(t, path)
	p := connectSQLite(t, path)
	for _, sql := range []string{
		`insert into gate_zero_batch (batch_id, created_at) values ('b', {time})`,
		`insert into gate_zero_intake (intake_id, batch_id, company_name, created_at, updated_at) values (x'01010101010101010101010101010101', 'b', 'c', {time}, {time})`,
		`update gate_zero_intake set status = 'FAILED'`,
		`insert into gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason, next_eligible_at, created_at, updated_at)
			select x'02020202020202020202020202020202', intake_id, 'b', 'TIMEOUT', {time} + 24 * {hour}, {time}, {time} from gate_zero_intake`,
		`insert into gate_zero_lease (recovery_id, token, leased_at, ends_at) select recovery_id, randomblob(16), {time} + 24 * {hour}, {time} + 25 * {hour} from gate_zero_recovery`,
	} {
		p.Do(sql)
	}
	p.refuses(map[string]string{
		"insert into gate_zero_batch (batch_id, created_at, completed_at, batch_freeze_at, frozen_at) values ('x', 0, 1, 2, 3)": "a batch begins open",
		"insert into gate_zero_batch (batch_id, created_at, killed_at, killed_by) values ('x', 0, 1, 'ada')":                    "kill switch off",
		secondAttempt:   "the AIR does not tell of its last attempt",
		airRow("LAPSE"): "only what is so", airRow("REVOKE"): "only what is so",
		"update gate_zero_lease set lapses = 1":                                                          "has run out",
		"update gate_zero_lease set ends_at = ends_at - 1":                                               "only ever extended",
		"update gate_zero_lease set token = randomblob(16)":                                              "a worker holds this recovery",
		"update gate_zero_lease set token = null, leased_at = null, ends_at = null, lapses = lapses + 2": "has run out",
	})
	p.Do(airRow("FAIL"))
	p.Do("update gate_zero_lease set token = null, leased_at = null, ends_at = null, lapses = lapses + 1")
	p.Do(airRow("LAPSE"))
	p.refuses(map[string]string{
		airRow("LAPSE"): "only what is so", airRow("REVOKE"): "only what is so",
		"update gate_zero_lease set lapses = 0": "until an attempt is used",
	})
	p.Do(secondAttempt)
	p.refuses(map[string]string{strings.NewReplacer("72", "168", "= 2", "= 3", "48", "240").Replace(secondAttempt): "the AIR does not tell of its last attempt"})
}

// secondAttempt fails when it is due, without a word to the AIR.
const secondAttempt = `update gate_zero_recovery set attempt_count = 2, updated_at = {time} + 48 * {hour}, next_eligible_at = {time} + (48 + 72) * {hour}`

// airRow inserts a row of the AIR about the recovery.
func airRow(event string) string {
	return `insert into gate_zero_air (intake_id, recovery_id, batch_id, event, attempt_count, at)
		select intake_id, recovery_id, batch_id, '` + event + `', attempt_count, updated_at from gate_zero_recovery`
}

// refuses tries what must not be, and looks for the reason.
func (p sqliteSQL) refuses(acts map[string]string) {
	p.Helper()
	for sql, why := range acts {
		if err := p.Try(sql); !p.Refused(err) || !strings.Contains(err.Error(), why) {
			p.Errorf("%s: %v, want that %s", sql, err, why)
		}
	}
}
