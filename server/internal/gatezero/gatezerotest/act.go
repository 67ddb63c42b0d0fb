package gatezerotest

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// gateAct is one statement, and what a person means by it.
type gateAct struct{ means, sql string }

// RunActs tries by plain SQL what the rules forbid. Each statement must be
// refused and leave everything as it is; its lawful neighbours must go through,
// so that nothing is refused for the wrong reason.
func RunActs(t *testing.T, s Database, raw conformance.PlainSQL, more ...string) {
	gateScene(t, s, raw)
	before := raw.Dump()
	for _, act := range gateForbidden() {
		if err := raw.Try(act.sql); err == nil || !raw.Refused(err) {
			t.Errorf("%s: answered with %v, want a refusal", act.means, err)
		}
	}
	for _, sql := range more {
		if err := raw.Try(sql); err == nil || !raw.Refused(err) {
			t.Errorf("%s: answered with %v, want a refusal", sql, err)
		}
	}
	for _, act := range gateAllowed() {
		if err := raw.Try(act.sql); err != nil {
			t.Errorf("%s: answered with %v", act.means, err)
		}
	}
	if after := raw.Dump(); after != before {
		t.Errorf("the rows have changed from\n%s\nto\n%s", before, after)
	}
}

// gateScene fills a store with an intake in every status, named after it, and
// with recoveries in every status of theirs.
func gateScene(t *testing.T, s Database, raw conformance.PlainSQL) {
	d := newGateDriver(t, s)
	d.batch("open")
	d.batch("frozen")
	d.company("pending", "open")
	d.company("bare", "open") // FAILED without a recovery
	raw.Do("update cl.gate_zero_intake set status = 'FAILED' where company_name = 'bare'")
	d.company("bare in a frozen batch", "frozen")
	raw.Do("update cl.gate_zero_intake set status = 'FAILED' where company_name = 'bare in a frozen batch'")
	_, err := d.record(d.company("authorized", "open"), gatezero.Pass{})
	d.must(err)
	d.fails(d.company("exhausted", "frozen"))
	d.stepBatch("frozen", gatezero.Complete{})
	d.wait(14 * day)
	d.freeze(10, 1)

	third := d.fails(d.company("third", "open"))
	for range 2 {
		third = d.claimed(third)
		third, err = d.finish(third.Recovery.ID, failing(third, "TIMEOUT"))
		d.must(err)
	}
	succeeded := d.claimed(d.fails(d.company("succeeded", "open")))
	_, err = d.finish(succeeded.Recovery.ID, d.pass(succeeded))
	d.must(err)
	d.fails(d.company("active", "open"))
	d.fails(d.company("loose", ""))
	d.fails(d.company("half", "open")) // somebody took over, and its status does not show it
	raw.Do(enter("'open'", "AUTHORIZED", of("half")))
}

// company imports one company.
func (d *gateDriver) company(name, batch string) recoup.ID {
	d.Helper()
	list := d.candidates(len(d.known), 1)
	list[0].CompanyName, list[0].ImportKey = name, name
	_, err := d.store.ImportIntakes(d.Context(), batch, d.now, list)
	d.must(err)
	d.know(list[0].ID)
	return list[0].ID
}

// of is the id of a company's intake; a re-entered company has two.
func of(company string) string {
	return "(select intake_id from cl.gate_zero_intake where company_name = '" + company + "' and previous_intake_id is null)"
}

// change is an update of a company's recovery.
func change(company, set string) string {
	return "update cl.gate_zero_recovery set " + set + " where intake_id = " + of(company)
}

// begin is a new recovery of a company.
func begin(company, batch, status string, attempts string) string {
	return `insert into cl.gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason, attempt_count, next_eligible_at,
		status, created_at, updated_at) select {id}, intake_id, ` + batch + `, 'TIMEOUT', ` + attempts + `, created_at + 24 * {hour}, '` + status + `',
		created_at, created_at from cl.gate_zero_intake where intake_id = ` + of(company)
}

// amend is an update of a company's intake.
func amend(company, set string) string {
	return "update cl.gate_zero_intake set " + set + " where intake_id = " + of(company)
}

// enter is a new intake.
func enter(batch, status, previous string) string {
	return `insert into cl.gate_zero_intake (intake_id, batch_id, company_name, status, previous_intake_id, created_at, updated_at)
		values ({id}, ` + batch + `, 'new', '` + status + `', ` + previous + `, {time}, {time})`
}

// lawful is the time of an attempt that is due.
const lawful = ", updated_at = next_eligible_at"

// waits is the wait after an attempt that is due.
const waits = lawful + ", next_eligible_at = next_eligible_at + 72 * {hour}"

func gateForbidden() []gateAct {
	return append(forbiddenRecoveries(), forbiddenIntakes()...)
}

func forbiddenRecoveries() []gateAct {
	return []gateAct{
		{"another recovery_id", change("active", "recovery_id = {id}")},
		{"another intake_id", change("active", "intake_id = "+of("bare"))},
		{"another batch_id", change("active", "batch_id = 'frozen'")},
		{"no batch_id", change("active", "batch_id = null")},
		{"a batch_id where there was none", change("loose", "batch_id = 'open'")},
		{"another created_at", change("active", "created_at = created_at + {hour}")},
		{"a fourth attempt", change("third", "attempt_count = 4"+waits)},
		{"no attempt", change("active", "attempt_count = 0"+waits)},
		{"a skipped attempt", change("active", "attempt_count = 3"+waits)},
		{"an attempt taken back", change("third", "attempt_count = 2"+waits)},
		{"an attempt without a wait", change("active", "attempt_count = 2"+lawful+", next_eligible_at = next_eligible_at - {hour}")},
		{"an attempt with too short a wait", change("active", "attempt_count = 2"+lawful+", next_eligible_at = next_eligible_at + 71 * {hour}")},
		{"an attempt with the wait of another", change("active", "attempt_count = 2"+lawful+", next_eligible_at = next_eligible_at + 168 * {hour}")},
		{"an attempt that failed for no known reason", change("active", "attempt_count = 2, failure_reason = 'BAD_LUCK'"+waits)},
		{"EXHAUSTED that is ACTIVE again", change("exhausted", "status = 'ACTIVE'")},
		{"EXHAUSTED that succeeds", change("exhausted", "status = 'SUCCEEDED'"+lawful)},
		{"EXHAUSTED with another reason", change("exhausted", "failure_reason = 'STATE_MISSING'")},
		{"SUCCEEDED that is ACTIVE again", change("succeeded", "status = 'ACTIVE'")},
		{"SUCCEEDED that is EXHAUSTED", change("succeeded", "status = 'EXHAUSTED'")},
		{"a status that does not exist", change("active", "status = 'LOST'"+lawful)},
		{"an attempt before its time", change("active", "attempt_count = 2, updated_at = next_eligible_at - {hour}, next_eligible_at = next_eligible_at + {hour}")},
		{"an end with attempts left", change("active", "status = 'EXHAUSTED'"+lawful)},
		{"a success before its time", change("active", "status = 'SUCCEEDED', updated_at = next_eligible_at - {hour}")},
		{"an end before its time", change("third", "status = 'EXHAUSTED', updated_at = next_eligible_at - {hour}")},
		{"an end before its time, without a batch", change("loose", "status = 'EXHAUSTED', updated_at = next_eligible_at - {hour}")},
		{"a reason before its time", change("third", "status = 'EXHAUSTED', failure_reason = 'X', updated_at = next_eligible_at - {hour}")},
		{"a reason without an attempt", change("active", "failure_reason = 'STATE_MISSING'"+lawful)},
		{"a time brought forward", change("active", "next_eligible_at = next_eligible_at - {hour}")},
		{"a time brought forward when it is due", change("active", "next_eligible_at = next_eligible_at - {hour}"+lawful)},
		{"a deleted recovery", "delete from cl.gate_zero_recovery where intake_id = " + of("active")},
		{"all recoveries deleted", "delete from cl.gate_zero_recovery"},
		{"a second recovery", begin("active", "'open'", "ACTIVE", "1")},
		{"a recovery under the id of another", strings.Replace(begin("bare", "'open'", "ACTIVE", "1"), "{id}",
			"(select recovery_id from cl.gate_zero_recovery where intake_id = "+of("active")+")", 1)},
		{"a second recovery instead of the first", begin("exhausted", "'frozen'", "ACTIVE", "1") +
			" on conflict (intake_id) do update set status = 'ACTIVE'"},
		{"a recovery of another batch", begin("bare", "'frozen'", "ACTIVE", "1")},
		{"a recovery of no batch", begin("bare", "null", "ACTIVE", "1")},
		{"a recovery of an intake that did not fail", begin("pending", "'open'", "ACTIVE", "1")},
		{"a recovery that begins with its second attempt", begin("bare", "'open'", "ACTIVE", "2")},
		{"a recovery that need not wait", strings.Replace(begin("bare", "'open'", "ACTIVE", "1"), "+ 24 * {hour}", "- {hour}", 1)},
		{"a recovery that waits too short a time", strings.Replace(begin("bare", "'open'", "ACTIVE", "1"), "24 *", "23 *", 1)},
		{"a recovery for no known reason", strings.Replace(begin("bare", "'open'", "ACTIVE", "1"), "'TIMEOUT'", "'BAD_LUCK'", 1)},
		{"a recovery that begins SUCCEEDED", begin("bare", "'open'", "SUCCEEDED", "1")},
		{"a recovery that begins EXHAUSTED in an open batch", begin("bare", "'open'", "EXHAUSTED", "1")},
		{"a recovery that begins ACTIVE in a frozen batch", begin("bare in a frozen batch", "'frozen'", "ACTIVE", "1")},
	}
}

func forbiddenIntakes() []gateAct {
	return []gateAct{
		{"FAILED that is AUTHORIZED", amend("active", "status = 'AUTHORIZED'")},
		{"FAILED that is AUTHORIZED, without a recovery", amend("bare", "status = 'AUTHORIZED'")},
		{"FAILED that is PENDING again", amend("active", "status = 'PENDING'")},
		{"FAILED that has succeeded without a successor", amend("active", "status = 'REENTER_SUCCEEDED'")},
		{"AUTHORIZED that fails", amend("authorized", "status = 'FAILED'")},
		{"REENTER_SUCCEEDED that is AUTHORIZED", amend("succeeded", "status = 'AUTHORIZED'")},
		{"PENDING that has re-entered", amend("pending", "status = 'REENTER_SUCCEEDED'")},
		{"another intake_id", amend("pending", "intake_id = {id}")},
		{"another batch_id", amend("pending", "batch_id = 'frozen'")},
		{"another import_key", amend("pending", "import_key = 'x'")},
		{"another company_name", amend("pending", "company_name = 'x'")},
		{"another domain", amend("pending", "domain = null")},
		{"another linkedin_url", amend("pending", "linkedin_url = 'x'")},
		{"another state", amend("pending", "state = 'NY'")},
		{"another previous_intake_id", amend("pending", "previous_intake_id = "+of("bare"))},
		{"another created_at", amend("pending", "created_at = created_at + {hour}")},
		{"a deleted intake", "delete from cl.gate_zero_intake where company_name = 'pending'"},
		{"an intake that begins AUTHORIZED", enter("'open'", "AUTHORIZED", "null")},
		{"an intake that begins FAILED", enter("'open'", "FAILED", "null")},
		{"an intake of no known batch", enter("'none'", "PENDING", "null")},
		{"a new intake of a complete batch", enter("'frozen'", "PENDING", "null")},
		{"an intake that takes over and is PENDING", enter("'open'", "PENDING", of("active"))},
		{"an intake that takes over from none that failed", enter("'open'", "AUTHORIZED", of("authorized"))},
		{"an intake that takes over in another batch", enter("'frozen'", "AUTHORIZED", of("active"))},
		{"a second intake that takes over", enter("'open'", "AUTHORIZED", of("succeeded"))},
		{"a second intake that takes over at once", enter("'open'", "AUTHORIZED", of("half"))},
		{"a line imported twice", `insert into cl.gate_zero_intake (intake_id, batch_id, import_key, company_name, created_at, updated_at)
			values ({id}, 'open', 'pending', 'twice', {time}, {time})`},
		{"a line imported twice without a batch", `insert into cl.gate_zero_intake (intake_id, import_key, company_name, created_at, updated_at)
			values ({id}, 'loose', 'twice', {time}, {time})`},

		{"a changed AIR row", "update cl.gate_zero_air set reason = 'x'"},
		{"an AIR row of another time", "update cl.gate_zero_air set at = at + {hour} where event = 'EXHAUSTED'"},
		{"a deleted AIR row", "delete from cl.gate_zero_air where event = 'EXHAUSTED'"},
		{"an AIR row of nothing", "insert into cl.gate_zero_air (event, attempt_count, at) values ('FAIL', 1, {time})"},
		{"an AIR row of an unknown event", "insert into cl.gate_zero_air (intake_id, event, at) values (" + of("active") + ", 'PARTY', {time})"},

		{"a failure recorded twice", "insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, attempt_count, at) " +
			"select intake_id, recovery_id, batch_id, 'FAIL', 1, {time} from cl.gate_zero_recovery where intake_id = " + of("active")},
		{"an end recorded that is none", "insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, attempt_count, at) " +
			"select intake_id, recovery_id, batch_id, 'EXHAUSTED', 1, {time} from cl.gate_zero_recovery where intake_id = " + of("active")},
		{"a pass recorded that was none", "insert into cl.gate_zero_air (intake_id, batch_id, event, at) values (" + of("pending") + ", 'open', 'AUTH', {time})"},
		{"a kill recorded that was none", "insert into cl.gate_zero_air (batch_id, event, at) values ('open', 'KILL', {time})"},
		{"a window that is too short", "update cl.gate_zero_batch set completed_at = created_at, batch_freeze_at = created_at + {hour} where batch_id = 'open'"},

		{"a renamed batch", "update cl.gate_zero_batch set batch_id = 'x' where batch_id = 'open'"},
		{"a batch of another time", "update cl.gate_zero_batch set created_at = created_at + {hour} where batch_id = 'open'"},
		{"a longer window", "update cl.gate_zero_batch set batch_freeze_at = batch_freeze_at + {hour} where batch_id = 'frozen'"},
		{"a shorter window", "update cl.gate_zero_batch set batch_freeze_at = batch_freeze_at - {hour} where batch_id = 'frozen'"},
		{"a window that does not run any more", "update cl.gate_zero_batch set completed_at = null, batch_freeze_at = null, frozen_at = null where batch_id = 'frozen'"},
		{"a thawed batch", "update cl.gate_zero_batch set frozen_at = null where batch_id = 'frozen'"},
		{"a freeze that leaves something ACTIVE", "update cl.gate_zero_batch set completed_at = created_at, batch_freeze_at = created_at, frozen_at = created_at where batch_id = 'open'"},
		{"a kill by nobody", "update cl.gate_zero_batch set killed_at = created_at where batch_id = 'open'"},
		{"a deleted batch", "delete from cl.gate_zero_batch where batch_id = 'open'"},
	}
}

// gateAllowed are lawful neighbours of what is forbidden.
func gateAllowed() []gateAct {
	return []gateAct{
		{"an attempt when it is due", change("active", "attempt_count = 2, failure_reason = 'STATE_MISSING'"+waits)},
		{"a success when it is due", change("active", "status = 'SUCCEEDED'"+lawful)},
		{"an end when it is due", change("third", "status = 'EXHAUSTED', failure_reason = 'STATE_MISSING'"+lawful)},
		{"a failure of a pending intake", amend("pending", "status = 'FAILED'")},
		{"a pass of a pending intake", amend("pending", "status = 'AUTHORIZED'")},
		{"a recovery of a failed intake", begin("bare", "'open'", "ACTIVE", "1")},
		{"an intake", enter("'open'", "PENDING", "null")},
		{"an intake that takes over", enter("'open'", "AUTHORIZED", of("active"))},
		{"an AIR row of a late result", "insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, at) " +
			"select intake_id, recovery_id, batch_id, 'LATE_RESULT', {time} from cl.gate_zero_recovery where intake_id = " + of("exhausted")},
		{"a kill", "update cl.gate_zero_batch set killed_at = created_at, killed_by = 'ada' where batch_id = 'open'"},
		{"a completion", "update cl.gate_zero_batch set completed_at = created_at, batch_freeze_at = created_at + 336 * {hour} where batch_id = 'open'"},
	}
}
