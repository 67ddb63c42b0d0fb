package bench

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
)

// BenchmarkSweep archives 200,000 errors whose time is over, in steps of 500 as
// the clock does: found, read and locked, decided, moved with a history row, the
// gate opened, guards and counts on. Beside it the bare statement moves as many
// rows, also found by their time, between two tables that are the same but for
// the guards. Target: 0.75 of the bare statement. "claims" is what claiming and
// acknowledging keeps of its idle rate while the sweep goes on; target: 0.9.
//
// With -short there are 10,000.
func BenchmarkSweep(b *testing.B) {
	expired := 200_000
	if testing.Short() {
		expired = 10_000
	}
	s, owner := openPostgres(b)
	execute(b, owner, bareTables)
	n, c, kept := newNode(b, s), contest{B: b}, []float64(nil)
	for b.Loop() {
		b.StopTimer()
		for range expired / workBatch {
			n.report(workBatch)
		}
		over := n.report(1)[0].ExpiresAt
		execute(b, owner, "truncate bare.error, bare.error_archive")
		execute(b, owner, "insert into bare.error select * from recoup.error where expires_at <= $1", over)
		execute(b, owner, "analyze recoup.error, bare.error")
		n.now = over
		must(b, s.EnsurePartitions(b.Context(), n.now))
		n.load(claimed / workBatch)
		idle := rate(claimed, just(func() { n.drain(2) }))
		n.load(claimed / workBatch)
		var sweep sync.WaitGroup
		swept := 0
		b.StartTimer()
		sweep.Go(func() { swept = n.sweep(expired / 2) })
		beside := rate(claimed, just(func() { n.drain(2) }))
		sweep.Wait()
		kept = append(kept, beside/idle)
		rest := expired - swept
		c.round(rest, just(func() { n.sweep(rest) }), just(func() { bareSweep(b, owner, over, rest) }))
	}
	c.report("errors", "bare")
	b.ReportMetric(median(kept), "claims")
}

// claimed is how many errors are worked on beside the sweep.
const claimed = 10_000

// sweep expires errors that are due until so many are done, and returns how many
// that were.
func (n *node) sweep(count int) (done int) {
	for done < count {
		ids, err := n.store.Due(n.Context(), store.DueExpiry, n.now, 0, workBatch)
		must(n, err)
		if len(ids) == 0 {
			break
		}
		steps := make([]store.Step, len(ids))
		for i, id := range ids {
			steps[i] = n.expiry(id)
		}
		must(n, n.apply(steps))
		done += len(ids)
	}
	return done
}

// bareSweep moves rows whose time is over until so many are done.
func bareSweep(b *testing.B, conn *pgx.Conn, over time.Time, count int) {
	b.Helper()
	columns := columnsOf(b, conn)
	move := `with due as (select error_id from bare.error where expires_at <= $1 order by expires_at limit $2 for update),
		gone as (delete from bare.error e using due where e.error_id = due.error_id returning e.*)
		insert into bare.error_archive (` + strings.Join(columns, ", ") + archiveColumns + ") select " + shelved(columns, "interval '1 year'") + " from gone"
	for done := 0; done < count; done += workBatch {
		execute(b, conn, move, over, workBatch)
	}
}
