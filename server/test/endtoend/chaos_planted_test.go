package endtoend

import (
	"context"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/test/chaos"
)

// forged are bugs that are planted into a running database, with the rights of its
// owner, and the rule that must find each.
var forged = map[string]struct {
	rule, statements string
	bus              bool // whether it takes one
}{
	"a promotion is recorded past an error that blocks": {rule: "gate", statements: `
		insert into recoup.promotion select gen_random_uuid(), nextval('recoup.gate_seq'), entity_id, 'forged', 'nobody', recoup.clock()
		from recoup.error where blocking limit 1`},
	"a promotion that was acknowledged is lost": {rule: "acknowledged", statements: `
		alter table recoup.promotion disable trigger user;
		delete from recoup.promotion where promotion_id = (select promotion_id from recoup.promotion limit 1);
		alter table recoup.promotion enable trigger user`},
	"a notice that was never sent counts as delivered": {rule: "notified", statements: `
		insert into recoup.outbox (kind, recipient, created_at, delivered_at) values ('PARKED', 'nobody', recoup.clock(), recoup.clock())`},
	"a count is off by one": {rule: "figure", statements: `
		insert into recoup.error_count (table_name, state, n) values ('people.people_errors', 'PARKED', 1)`},
	"a batch that left the bus was not written": {rule: "sequence", statements: `delete from recoup.bus_range`, bus: true},
	"an event that the bus took is lost": {rule: "acknowledged", statements: `
		alter table recoup.error_event disable trigger user;
		delete from recoup.error_event where event_id = (select event_id from recoup.error_event where service = 'chaos' limit 1);
		alter table recoup.error_event enable trigger user`, bus: true},
}

// TestChaosForged: in runs on a real database the checker finds what went wrong there.
// The bugs that it is tested with otherwise are planted into what was recorded.
// It takes minutes: make chaos-forged runs it.
func TestChaosForged(t *testing.T) {
	t.Parallel()
	if !soaking() {
		t.Skip("takes minutes: make chaos-forged runs this, or RECOUP_SOAK=1")
	}
	for bug, planted := range forged {
		t.Run(bug, func(t *testing.T) {
			var b *chaosBus
			if planted.bus {
				b = newChaosBus(t)
			}
			c := onPostgres(t, seed(), b)
			c.expected = planted.rule
			c.planted = func(ctx context.Context) {
				if _, err := c.db.ExecContext(ctx, planted.statements); err != nil {
					t.Fatal(err)
				}
			}
			c.mix, c.rest, c.lasts = chaos.Mix{chaos.KillNode: 1, chaos.EndSessions: 1}, mixedRest, 15*time.Second
			c.run()
		})
	}
}
