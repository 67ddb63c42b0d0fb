package endtoend

import (
	"database/sql"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// TestPromotionIsDatedByTheDatabase asks a node whose clock is five minutes ahead, and
// one whose clock is five minutes behind, to promote: the answer, its repetition and the
// row say the same time, which is the database's.
func TestPromotionIsDatedByTheDatabase(t *testing.T) {
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	pgtest.HoldToClock(t, owner)
	db, err := sql.Open("pgx", owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	when := func(query string) (at time.Time) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), query).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	var key string
	for entity, wrong := range map[string]time.Duration{"CO-AHEAD": 5 * time.Minute, "CO-BEHIND": -5 * time.Minute} {
		pgtest.ShiftClock(t, owner, wrong) // by which the node sets its clock
		at := newSite(t, database{Kind: "postgres", Owner: owner, Nodes: nodes})
		at.start()
		if key == "" {
			key = at.key()
		}
		pgtest.ShiftClock(t, owner, 0)
		c, err := client.New(client.Options{Server: "http://" + *at.address.Load(), Key: key})
		if err != nil {
			t.Fatal(err)
		}
		before := when("select recoup.clock()")
		var answers [2]recoup.Promoted
		for i := range answers {
			if answers[i], err = c.Promote(t.Context(), recoup.Promotion{EntityID: entity, Phase: "outreach"}, client.IdempotencyKey(entity)); err != nil {
				t.Fatal(err)
			}
		}
		row, after := when("select promoted_at from recoup.promotion where entity_id = '"+entity+"'"), when("select recoup.clock()")
		if row.Before(before) || row.After(after) {
			t.Errorf("%s: dated %v, want between %v and %v", entity, row, before, after)
		}
		for _, a := range answers {
			if !a.At.Equal(row) {
				t.Errorf("%s: answered (repeated: %v) with %v, and written down as %v", entity, a.Repeated, a.At, row)
			}
		}
	}
}
