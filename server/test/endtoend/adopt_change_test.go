package endtoend

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// TestOwnersChangesAreJudged changes rows of an adopted table as their owner and writers do: a
// severity that is raised closes the gate, an upsert of a failing row is a further failure, and an
// update that changes nothing is none.
func TestOwnersChangesAreJudged(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	ownerSQL(t, owner, `create schema outreach; create table outreach.dol_errors (
		id bigint generated always as identity primary key, outreach_id text unique, error_code text, error_message text, severity text, attempts int not null default 1,
		created_at timestamptz not null default now());
		insert into outreach.dol_errors (outreach_id, error_code, severity) values ('CO-low', 'NETWORK_TIMEOUT', 'low'), ('CO-busy', 'NETWORK_TIMEOUT', 'medium')`)
	s := newSite(t, database{Nodes: nodes})
	s.start()
	c := &adopter{T: t, url: owner}
	if out, err := c.command("adopt", "outreach.dol_errors", "--entity", "outreach_id", "--apply", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eventually := func(sql string) {
		t.Helper()
		for try := 0; !c.ask("select " + sql); try++ {
			if try == patience || retry.Sleep(t.Context(), 20*time.Millisecond) != nil {
				t.Fatalf("it is still not so: %s\n%s", sql, s.log.String())
			}
		}
	}
	eventually("(select mapping ->> 'last_seen' = 'attempts' and state = 'GOVERNED' from recoup.adoption)")
	eventually("not recoup.is_blocked('CO-low') and recoup.is_blocked('CO-busy')")

	c.exec("update outreach.dol_errors set severity = 'critical' where outreach_id = 'CO-low'")
	if !c.ask("select recoup.is_blocked('CO-low')") {
		t.Error("the row does not block from the commit of the change on")
	}
	eventually("(select disposition = 'PARKED' from outreach.dol_errors where outreach_id = 'CO-low')")
	eventually("(select severity = 'CRITICAL' and blocking from recoup.error where entity_id = 'CO-low' and state = 'PARKED')")
	eventually(`exists (select from recoup.error_history h join recoup.error e using (error_id)
		where e.entity_id = 'CO-low' and h.reason like 'the source row has changed: severity LOW to CRITICAL%')`)

	upsert := `insert into outreach.dol_errors (outreach_id, error_code) values ('CO-busy', 'NETWORK_TIMEOUT')
		on conflict (outreach_id) do update set attempts = dol_errors.attempts + 1`
	of := func(want string) string {
		return "(select " + want + " from recoup.error where entity_id = 'CO-busy' and state not in ('RESOLVED'))"
	}
	c.exec(upsert)
	eventually(of("retry_count = 1"))
	c.exec("update outreach.dol_errors set error_message = error_message, attempts = attempts where outreach_id = 'CO-busy'")
	for _, want := range []string{"retry_count = 2", "retry_count = 3", "retry_count = 4", "retry_count = 5 and state = 'PARKED' and park_reason = 'MAX_RETRIES_EXCEEDED'", "retry_count = 5 and state = 'PARKED'"} {
		c.exec(upsert)
		eventually(of(want) + " and not exists (select from recoup.adopted_change)")
	}
	eventually("(select disposition = 'PARKED' from outreach.dol_errors where outreach_id = 'CO-busy')")
	eventually("(select count(*) = 6 from recoup.error_archive where entity_id = 'CO-busy' and archive_reason = 'SUPERSEDED')")
}
