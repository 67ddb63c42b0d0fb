package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// Deadlines of what is parked are read from their indexes, in order and as far as they are
// counted: of 100,000 errors 12,000 are parked, and no other is looked at.
func TestForecastPlans(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	now := conformance.Epoch()
	for _, sql := range strings.Split(fill, ";\n") {
		owner.run(strings.ReplaceAll(sql, "$1", "'"+now.Format(time.RFC3339)+"'"))
	}
	owner.run("update recoup.error set review_due_at = parked_at + interval '3 days' where parked_at is not null")
	owner.run("insert into recoup.staged_minute select '" + now.Format(time.RFC3339) + "'::timestamptz - i * interval '1 minute', 'p' || p, 1, 1 from generate_series(1, 20000) i, generate_series(1, 3) p")
	owner.run("vacuum analyze recoup.error, recoup.staged_minute")
	const parked = 12_000
	for _, p := range postgres.PlannedForecasts(now) {
		t.Run(p.Name, func(t *testing.T) {
			plan := explain(prompt{t, owner.Conn}, p)
			if scan := scanOf(plan); scan.Type == "" || scan.Type == "Seq Scan" || scan.Rows+scan.Filtered > parked || scan.Relation == "error" && scan.Type != "Index Only Scan" {
				t.Errorf("not by an index alone\n%s", outline(plan, ""))
			}
		})
	}
}

// scanOf is the scan of a table that grows.
func scanOf(n node) node {
	if n.Relation == "error" || n.Relation == "staged_minute" {
		return n
	}
	for _, child := range n.Plans {
		if found := scanOf(child); found.Relation != "" {
			return found
		}
	}
	return node{}
}
