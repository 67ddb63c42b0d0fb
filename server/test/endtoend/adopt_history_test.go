package endtoend

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// TestAdoptedHistoryNotifiesOnce adopts a table with thousands of old rows, of which hundreds are
// parked, block, have tiers and are about to expire: the team gets one notification, and no alert
// begins. A row that is written while the others are still being read notifies as ever.
func TestAdoptedHistoryNotifiesOnce(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	ownerSQL(t, owner, `create schema outreach; create table outreach.dol_errors (
		id bigint generated always as identity primary key, outreach_id text, error_code text, error_message text, severity text, created_at timestamptz not null default now());
		insert into outreach.dol_errors (outreach_id, error_code, severity, created_at)
			select 'CO-' || n, (array['NETWORK_TIMEOUT', 'VALIDATION_ERROR', 'RATE_LIMITED'])[1 + n % 3], (array[null, 'high', 'medium', 'low', 'critical'])[1 + n % 5], now() - n * interval '12 minutes'
			from generate_series(6, 6000) n`)
	s := newSite(t, database{Nodes: nodes})
	s.start()
	c := &adopter{T: t, url: owner}
	if out, err := c.command("adopt", "outreach.dol_errors", "--entity", "outreach_id", "--apply", "--yes", "--no-wait").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually := func(sql string) {
		t.Helper()
		for try := 0; !c.ask("select " + sql); try++ {
			if try == 2*patience || retry.Sleep(t.Context(), 20*time.Millisecond) != nil {
				t.Fatalf("it is still not so: %s\n%s", sql, s.log.String())
			}
		}
	}
	eventually("(select scanned > 0 from recoup.adoption)")
	c.exec("insert into outreach.dol_errors (outreach_id, error_code) values ('CO-new', 'VALIDATION_ERROR')")
	if !c.ask("select state = 'BACKFILLING' from recoup.adoption") {
		t.Error("the backfill is over already: nothing was written in between")
	}
	eventually("exists (select from recoup.outbox o join recoup.error e using (error_id) where o.kind = 'PARKED' and e.entity_id = 'CO-new')")
	eventually("(select state = 'GOVERNED' from recoup.adoption)")
	governed := "(select governed_at from recoup.adoption)"
	for _, job := range []string{"alerts", "reminders", "escalation"} { // each has seen all of it
		eventually("(select started_at > " + governed + " + interval '10 seconds' from recoup.job where name = '" + job + "')")
	}
	if !c.ask("select (select count(*) > 500 from recoup.error where state in ('PARKED', 'ESCALATED')) and (select count(*) > 500 from recoup.error where blocking)") {
		t.Error("the rows are not what the test is about")
	}
	for _, hold := range []string{
		"not exists (select from recoup.outbox where kind not in ('ADOPTED', 'PARKED'))",
		"(select count(*) = 1 from recoup.outbox where kind = 'PARKED')",
		"(select count(*) = 1 and min(recipient) = 'dol-filings-team' and min((body -> 'adopted' ->> 'rows')::int) = 5995 from recoup.outbox where kind = 'ADOPTED')",
		"(select (body -> 'adopted' ->> 'parked')::int = (select count(*) from recoup.error where historic and state in ('PARKED', 'ESCALATED')) from recoup.outbox where kind = 'ADOPTED')",
		"not exists (select from recoup.alert)",
	} {
		if !c.ask("select " + hold) {
			t.Errorf("it is not so: %s", hold)
		}
	}
}
