package postgres_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// However long a policy keeps events, and whatever months a node's role asks for, there are only
// so many partitions.
func TestPartitionsAreBounded(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, app, s := at(t, ownerURL), at(t, appURL), open(t, appURL)
	must(t, s.EnsureEventPartitions(t.Context(), conformance.Epoch(), 200*365*24*time.Hour))
	const count = "select count(*) from pg_inherits where inhparent in ('recoup.error_event'::regclass, 'recoup.transition'::regclass)"
	if n := ask[int](owner, count); n > 40 {
		t.Errorf("a long retention has made %d partitions", n)
	}
	pgtest.HoldToClock(t, ownerURL)
	before := ask[int](owner, count)
	for _, sql := range []string{
		"select recoup.create_partition('error_event', '0001-01-01')", "select recoup.create_partition('transition', '9999-12-01')",
		"select recoup.create_partition('error_event', (now() - interval '51 years')::date)",
		"select recoup.create_partition('transition', (now() + interval '14 months')::date)",
		"select recoup.ensure_event_partitions(array(select d::date from generate_series('0001-01-01'::timestamp, '9999-12-01', '1 month') d))",
	} {
		if got := app.sqlState(sql); got != guard {
			t.Errorf("%s: %s", sql, got)
		}
	}
	if n := ask[int](owner, count); n != before {
		t.Errorf("there were %d partitions, now there are %d", before, n)
	}
}
