package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestAlerts(t *testing.T) {
	t.Parallel()
	conformance.RunAlerts(t, func(t *testing.T) conformance.Alerting { return open(t) })
}

// alertSQL is a connection of somebody else that looks at the tables of alerts.
type alertSQL struct{ serviceSQL }

func (s alertSQL) Dump() string {
	var b strings.Builder
	for _, table := range []string{"alert", "silence", "provider", "outbox", "activity_minute", "activity_hour"} {
		rows, err := s.db.QueryContext(s.Context(), "select * from "+table+" order by 1")
		if err != nil {
			s.Fatal(err)
		}
		fmt.Fprintf(&b, "%s:\n%s\n", table, strings.Join(s.lines(rows), "\n"))
	}
	return b.String()
}

// replacingAlerts are ways in which a row could be replaced without being
// deleted by name.
func replacingAlerts() []string {
	var list []string
	for _, verb := range []string{"insert or replace", "replace", "insert or ignore", "insert"} {
		list = append(list,
			verb+` into alert select alert_id, 'x', scope, 'PENDING', severity, action, condition, samples, pending_at, null, null, null, 0, value
				from alert where rule = 'resolved'`,
			verb+` into alert select {id}, rule, scope, 'PENDING', severity, action, condition, samples, pending_at, null, null, null, 0, value
				from alert where rule = 'firing'`,
			verb+` into silence select silence_id, null, null, until, reason, created_at, created_by, null, null from silence where rule = 'ended'`,
			verb+` into provider select group_name, active, since, 'x', reason, alert_id from provider`)
	}
	return append(list,
		`delete from alert where rule = 'resolved'`,
		`update or replace alert set rule = 'firing', scope = 'x' where rule = 'pending'`,
		`update or ignore alert set value = 1 where rule = 'resolved'`)
}

func TestAlertActs(t *testing.T) {
	t.Parallel()
	s := open(t)
	conformance.RunAlertActs(t, s, alertSQL{serviceSQL{connect(t, s.path)}}, replacingAlerts()...)
}
