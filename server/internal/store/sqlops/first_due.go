package sqlops

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// firstOfRest is when other things than errors are due that do not wait for an hourly job.
// What only a worker or a person can end is due now, so that a node is awake as long as it
// waits: alert rules look at how long it does.
var firstOfRest = []string{
	"select created_at from recoup.error where policy_version is null order by created_at, error_id limit 1",
	"select d.due_at from recoup.error_table t cross join lateral (select due_at from recoup.due where table_name = t.table_name order by table_name, due_at limit 1) d",
	"select due_at from recoup.outbox where due_at is not null order by due_at limit 1",
	"select next_at from recoup.replay where next_at is not null order by next_at limit 1",
	"select state_at from recoup.operation where state = 'RUNNING' order by state_at limit 1",
	"select pending_at from recoup.alert where state <> 'RESOLVED' order by pending_at, alert_id limit 1",
	"select created_at from recoup.work order by work_id limit 1",
}

// FirstDue is a statement for PostgreSQL that answers with a row for each kind of thing that is due at a
// time: when the first of it is. $1 is the last time of all. Others add statements of their own.
func FirstDue(also ...string) string {
	first, kinds := slices.Concat(firstOfRest, also), dueErrors(sqldb.PostgreSQL)
	for _, d := range slices.Sorted(maps.Keys(kinds)) {
		first = append(first, kinds[d].first())
	}
	return "(" + strings.Join(first, ") union all (") + ")"
}

// first asks when the first of a kind is due.
func (d deadline) first() string {
	return "select " + d.at + " from " + d.from + " where " + d.where + " order by " + cmp.Or(d.order, d.at) + " limit 1"
}
