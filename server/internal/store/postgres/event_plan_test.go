package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// The counts of one service, or of one code, are read by an index of their own: what
// others have is in nobody's way.
func TestDailyPlans(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	now := conformance.Epoch()
	owner.run("insert into recoup.error_aggregate_daily select '" + now.Format(time.DateOnly) + `'::date - d, 's' || s, 'C' || c, 1, 1, now()
		from generate_series(0, 29) d, generate_series(1, 40) s, generate_series(1, 40) c`)
	owner.run("analyze recoup.error_aggregate_daily")
	skips := ask[int](owner, serverVersion) >= 180000 // within an index, from day to day
	for _, p := range postgres.PlannedDaily(now) {
		t.Run(p.Name, func(t *testing.T) {
			plan := explain(prompt{t, owner.Conn}, p)
			if used := indexesOf(plan, "error_aggregate_daily"); len(used) != 1 || used[0] == "error_aggregate_daily_pkey" && !skips {
				t.Errorf("reads the days of all by %v\n%s", used, outline(plan, ""))
			}
		})
	}
}

// serverVersion asks for the server's version, as 150004 for 15.4.
const serverVersion = "select current_setting('server_version_num')::int"

// indexesOf returns the indexes by which a plan reads a table.
func indexesOf(n node, table string) (list []string) {
	if n.Index != "" && (n.Relation == table || strings.HasPrefix(n.Index, table)) {
		list = append(list, n.Index)
	}
	for _, child := range n.Plans {
		list = append(list, indexesOf(child, table)...)
	}
	return list
}
