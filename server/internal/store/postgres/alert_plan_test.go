package postgres_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// fillAlerts makes 20,000 alerts of two months, of which 40 are open, as many
// notices, of which few wait and few were given up, and 90 days of activity.
const fillAlerts = `
insert into recoup.alert (alert_id, rule, scope, state, severity, action, condition, samples, pending_at, fired_at, value)
select md5('a' || i)::uuid, 'r' || i % 11, 's' || i % 7, 'FIRING', 'HIGH', 'x', 'x', 1, $1::timestamptz - i * interval '4 minutes', $1::timestamptz - i * interval '4 minutes', 1
from generate_series(1, 40) i;
alter table recoup.alert disable trigger user;
insert into recoup.alert (alert_id, rule, scope, state, severity, action, condition, samples, pending_at, resolved_at, value, notified, notified_at)
select md5('a' || i)::uuid, 'r' || i % 11, 's' || i % 7, 'RESOLVED', 'HIGH', 'x', 'x', 1, $1::timestamptz - i * interval '4 minutes', $1::timestamptz, 1,
	i % 2, case when i % 2 = 1 then $1::timestamptz end
from generate_series(41, 20000) i;
insert into recoup.outbox (kind, recipient, created_at, due_at, delivered_at, given_up_at)
select 'ALERT', 't' || i % 5, $1::timestamptz - i * interval '4 minutes', case when i % 400 = 0 then $1::timestamptz end,
	case when i % 400 > 1 then $1::timestamptz end, case when i % 400 = 1 then $1::timestamptz end from generate_series(1, 20000) i;
insert into recoup.activity_minute select $1::timestamptz - i * interval '1 minute', 't' || t, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
from generate_series(1, 20000) i, generate_series(1, 3) t;
insert into recoup.activity_hour select $1::timestamptz - i * interval '1 hour', 't' || t, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
from generate_series(1, 2000) i, generate_series(1, 3) t`

// Every statement about alerts finds its rows by an index, as others do.
func TestAlertPlans(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	now, size := conformance.Epoch(), 50
	for _, sql := range strings.Split(fillAlerts, ";\n") {
		owner.run(strings.ReplaceAll(sql, "$1", "'"+now.Format(time.RFC3339)+"'"))
	}
	owner.run("analyze")
	for _, p := range postgres.PlannedAlerts(now, size) {
		t.Run(p.Name, func(t *testing.T) {
			plan := explain(prompt{t, owner.Conn}, p)
			for _, problem := range problems(growingAlerts(plan), float64(4*size)) {
				t.Errorf("%s\n%s", problem, outline(plan, ""))
			}
		})
	}
}

// growingAlerts gives the tables of alerts that grow a name that the check knows.
func growingAlerts(n node) node {
	if slices.Contains([]string{"alert", "outbox", "activity_minute", "activity_hour"}, n.Relation) {
		n.Relation = "error"
	}
	n.Plans = slices.Clone(n.Plans)
	for i := range n.Plans {
		n.Plans[i] = growingAlerts(n.Plans[i])
	}
	return n
}
