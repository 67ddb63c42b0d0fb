package conformance

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// RunAlertActs tries by plain SQL what the rules forbid to be done to alerts. Each
// statement must be refused and leave everything as it is; its lawful neighbours
// must go through.
func RunAlertActs(t *testing.T, s Alerting, raw ServiceSQL, more ...string) {
	alertScene(&alertDriver{newServiceDriver(t, s), s})
	before := raw.Dump()
	for _, sql := range append(alertForbidden(), more...) {
		if err := raw.Try(sql); err == nil || !raw.Refused(err) {
			t.Errorf("%s: answered with %v, want a refusal", sql, err)
		}
	}
	for _, sql := range alertAllowed() {
		if err := raw.Try(sql); err != nil {
			t.Errorf("%s: answered with %v", sql, err)
		}
	}
	if after := raw.Dump(); after != before {
		t.Errorf("the rows have changed from\n%s\nto\n%s", before, after)
	}
}

// alertScene fills a store with one of everything, in every state.
func alertScene(d *alertDriver) {
	pending, firing, over := d.alert("pending", ""), d.fires(d.alert("firing", "x")), d.fires(d.alert("resolved", "x"))
	d.must(d.save(pending, firing, over))
	d.must(d.save(d.resolves(over)))
	d.silenced(d.silence("live", "", 2))
	s := d.silenced(d.silence("ended", "x", 2))
	d.wait(time.Minute)
	_, err := d.store.EndSilence(d.Context(), s.ID, d.act("ada"))
	d.must(err)
	_, err = d.store.SwitchProvider(d.Context(), store.Switch{Group: "g", To: "a"}, d.act("ada"))
	d.must(err)
	old := d.posted(3)[1]
	d.resend(1, old.ID)
	NewDriver(d.TB, d.store).Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.must(d.store.FoldActivity(d.Context()))
}

func alertForbidden() []string {
	return []string{
		"update recoup.alert set alert_id = {id} where rule = 'pending'",
		"update recoup.alert set rule = 'x' where rule = 'pending'",
		"update recoup.alert set scope = 'y' where rule = 'firing'",
		"update recoup.alert set scope = null where rule = 'firing'",
		"update recoup.alert set pending_at = pending_at - {hour} where rule = 'pending'",
		"update recoup.alert set fired_at = fired_at + {hour} where rule = 'firing'",
		"update recoup.alert set state = 'PENDING', fired_at = null where rule = 'firing'",
		"update recoup.alert set state = 'FIRING' where rule = 'pending'",
		"update recoup.alert set state = 'RESOLVED' where rule = 'firing'",
		"update recoup.alert set state = 'ODD' where rule = 'firing'",
		"update recoup.alert set notified = 0, notified_at = null where rule = 'firing'",
		"update recoup.alert set notified = 2, notified_at = null where rule = 'firing'",
		"update recoup.alert set state = 'FIRING', resolved_at = null where rule = 'resolved'",
		"update recoup.alert set resolved_at = resolved_at + {hour} where rule = 'resolved'",
		"update recoup.alert set value = 1 where rule = 'resolved'",
		"update recoup.alert set samples = -1 where rule = 'pending'",
		"delete from recoup.alert where rule = 'firing'",
		"delete from recoup.alert where rule = 'pending'",
		newAlert("firing", "'x'", "PENDING", ""),
		newAlert("pending", "null", "PENDING", ""),
		newAlert("new", "null", "RESOLVED", "resolved_at"),
		newAlert("new", "null", "FIRING", ""),

		"update recoup.silence set silence_id = {id} where rule = 'live'",
		"update recoup.silence set rule = null where rule = 'live'",
		"update recoup.silence set scope = 'x' where rule = 'live'",
		"update recoup.silence set until = until + {hour} where rule = 'live'",
		"update recoup.silence set reason = 'x' where rule = 'live'",
		"update recoup.silence set created_by = 'x' where rule = 'live'",
		"update recoup.silence set ended_at = until, ended_by = 'x' where rule = 'live'",
		"update recoup.silence set ended_at = created_at where rule = 'live'",
		"update recoup.silence set ended_at = null, ended_by = null where rule = 'ended'",
		"update recoup.silence set ended_by = 'x' where rule = 'ended'",
		"delete from recoup.silence where rule = 'live'",
		"delete from recoup.silence where rule = 'ended'",
		`insert into recoup.silence (silence_id, until, reason, created_at, created_by) select {id}, until, '', created_at, 'x' from recoup.silence where rule = 'live'`,
		`insert into recoup.silence (silence_id, until, reason, created_at, created_by) select {id}, created_at, 'x', created_at, 'x' from recoup.silence where rule = 'live'`,
		`insert into recoup.silence (silence_id, until, reason, created_at, created_by, ended_at, ended_by)
			select {id}, until, 'x', created_at, 'x', created_at, 'x' from recoup.silence where rule = 'live'`,

		"update recoup.provider set group_name = 'x', active = 'b'",
		"update recoup.provider set reason = 'x'",
		"update recoup.provider set active = ''",
		"delete from recoup.provider",

		"update recoup.outbox set resend_of = {id} where resend_of is not null",
		"update recoup.outbox set resend_of = null where resend_of is not null",
		"update recoup.activity_minute set reported = -1",
		"update recoup.activity_hour set archived = -1",
	}
}

// newAlert is a new alert, with a time more if one is named.
func newAlert(rule, scope, state, time string) string {
	value := ""
	if time != "" {
		time, value = ", "+time, ", {time}"
	}
	return `insert into recoup.alert (alert_id, rule, scope, state, severity, action, condition, samples, pending_at, value` + time + `)
		values ({id}, '` + rule + `', ` + scope + `, '` + state + `', 'HIGH', 'x', 'x', 1, {time}, 0.5` + value + `)`
}

// alertAllowed are lawful neighbours of what is forbidden.
func alertAllowed() []string {
	return []string{
		"update recoup.alert set state = 'FIRING', fired_at = {time}, notified = 1, notified_at = {time} where rule = 'pending'",
		"update recoup.alert set state = 'RESOLVED', resolved_at = {time} where rule = 'firing'",
		"update recoup.alert set value = 1, samples = 2, severity = 'LOW', notified = notified + 1 where rule = 'firing'",
		newAlert("firing", "'y'", "PENDING", ""),
		newAlert("resolved", "'x'", "FIRING", "fired_at"),
		"update recoup.silence set ended_at = created_at, ended_by = 'x' where rule = 'live'",
		"update recoup.provider set active = 'b', reason = 'x'",
		"insert into recoup.provider (group_name, active, since, switched_by) values ('h', 'a', {time}, 'x')",
		"update recoup.activity_minute set reported = reported + 1",
	}
}
