package endtoend

import (
	"context"
	"testing"

	"recoup/internal/netfault"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/chaos"
)

// forged are bugs that are planted into a running database, with the rights of its
// owner, and the rule that must find each.
var forged = map[string]struct{ rule, statements string }{
	"a promotion is recorded past an error that blocks": {"gate", `
		insert into recoup.promotion select gen_random_uuid(), nextval('recoup.gate_seq'), entity_id, 'forged', 'nobody', recoup.clock()
		from recoup.error where blocking limit 1`},
	"a promotion that was acknowledged is lost": {"acknowledged", `
		alter table recoup.promotion disable trigger user;
		delete from recoup.promotion where promotion_id = (select promotion_id from recoup.promotion limit 1);
		alter table recoup.promotion enable trigger user`},
	"a notice that was never sent counts as delivered": {"notified", `
		insert into recoup.outbox (kind, recipient, created_at, delivered_at) values ('PARKED', 'nobody', recoup.clock(), recoup.clock())`},
	"a count is off by one": {"figure", `
		insert into recoup.error_count (table_name, state, n) values ('people.people_errors', 'PARKED', 1)`},
}

// TestChaosForged: in runs on a real database the checker finds what went wrong there.
// The bugs that it is tested with otherwise are planted into what was recorded.
// RECOUP_SOAK=1 runs it.
func TestChaosForged(t *testing.T) {
	t.Parallel()
	for bug, planted := range forged {
		if !soaking() {
			break
		}
		t.Run(bug, func(t *testing.T) {
			server := pgtest.Start(t, pgtest.Options{Durable: pgtest.Durable()})
			owner, nodes := server.Migrated(t)
			c := newChaos(t, seed(), database{Kind: "postgres", Owner: owner, Nodes: nodes})
			c.server, c.expected = server, planted.rule
			c.planted = func(ctx context.Context) {
				if _, err := c.db.ExecContext(ctx, planted.statements); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				through, proxy := netfault.Postgres(t, nodes)
				c.add(through, proxy)
			}
			c.mix, c.rest = chaos.Mix{chaos.KillNode: 1, chaos.EndSessions: 1}, mixedRest
			c.run()
		})
	}
}
