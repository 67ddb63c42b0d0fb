package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// An old transaction keeps every dead row of the database. The queue does not grow by
// it, and loses nothing as it changes its table: neither what is due later nor what
// waits in a lane that nobody serves.
func TestQueueTurnsUnderAnOldTransaction(t *testing.T) {
	t.Parallel()
	ownerURL, app := pgtest.Migrated(t)
	owner := at(t, ownerURL)
	old, err := at(t, ownerURL).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(t.Context(), "select count(*) from recoup.replay"); err != nil {
		t.Fatal(err)
	}
	const rounds, batch = 30, 1000 // six times as many tickets as the queue is turned after
	conformance.ChurnQueue(t, open(t, app), rounds, batch, time.Hour)
	if size := ask[int64](owner, "select pg_relation_size('recoup.work_due_0') + pg_relation_size('recoup.work_due_1')"); size > 2<<20 {
		t.Errorf("the queue has %d bytes of dead tickets", size)
	}
	if err := old.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
