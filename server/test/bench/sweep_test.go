package bench

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// BenchmarkSweep archives 200,000 errors whose time is over, on SQLite 20,000, in chunks of
// 500 as the clock does: found, decided, moved with a row of history, the gate opened,
// guards and counts on, owners notified. Beside it the bare statement moves as many rows,
// also found by their time, between two tables that are the same but for the guards.
// Target: 0.75 of the bare statement on PostgreSQL, 0.65 on SQLite. "claims" is what
// claiming and acknowledging keeps of its idle rate while the sweep goes on; target: 0.9 on
// PostgreSQL. SQLite has one writer, whom claims and sweep share.
//
// With -short there are 10,000.
func BenchmarkSweep(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		s, owner := openPostgres(b)
		execute(b, owner, bareTables)
		sweep(newNode(b, s), 200_000, func(over time.Time) {
			execute(b, owner, "truncate bare.error, bare.error_archive")
			execute(b, owner, "insert into bare.error select * from recoup.error where expires_at <= $1", over)
			execute(b, owner, "analyze recoup.error, bare.error")
		}, func(over time.Time, count int) { bareSweep(b, owner, over, count) })
	})
	b.Run("sqlite", func(b *testing.B) {
		s, db := openSQLite(b)
		bare := newBareFile(b, db)
		sweep(newNode(b, s), 20_000, func(over time.Time) {
			bare.run("delete from main.error")
			bare.run("insert into main.error select * from theirs.error where expires_at <= ?", over.UnixMicro())
		}, func(over time.Time, count int) {
			for done := 0; done < count; done += workBatch {
				bare.moveThose(fmt.Sprintf("(select error_id from main.error where expires_at <= %d order by expires_at limit %d)", over.UnixMicro(), workBatch))
			}
		})
	})
}

// sweep lets as many errors expire, which load copies for the rival.
func sweep(n *node, expired int, load func(over time.Time), rival func(over time.Time, count int)) {
	if testing.Short() {
		expired = 4 * workBatch
	}
	c, kept := contest{B: n.B}, []float64(nil)
	for n.Loop() {
		n.StopTimer()
		n.sweep(store.DueResolved, lifecycle.ArchiveNow{}, 2*claimed) // what was claimed before
		for range expired / workBatch {
			n.report(workBatch)
		}
		over := n.report(1)[0].ExpiresAt
		load(over)
		n.now = over
		must(n, n.store.EnsurePartitions(n.Context(), n.now))
		n.load(claimed / workBatch)
		idle := rate(claimed, just(func() { n.drain(2) }))
		n.load(claimed / workBatch)
		var beside sync.WaitGroup
		swept := 0
		n.StartTimer()
		beside.Go(func() { swept = n.sweep(store.DueExpiry, lifecycle.Expire{}, expired/2) })
		claims := rate(claimed, just(func() { n.drain(2) }))
		beside.Wait()
		kept = append(kept, claims/idle)
		rest := expired - swept
		c.round(rest, just(func() { n.sweep(store.DueExpiry, lifecycle.Expire{}, rest) }), just(func() { rival(over, rest) }))
	}
	c.report("errors", "bare")
	n.ReportMetric(median(kept), "claims")
}

// claimed is how many errors are worked on beside the sweep.
const claimed = 10_000

// sweep archives errors that are due until so many are done, and returns how many
// that were.
func (n *node) sweep(d store.Deadline, in lifecycle.Input, count int) (done int) {
	for done < count {
		ids, err := n.store.Due(n.Context(), d, n.now, 0, workBatch)
		must(n, err)
		if len(ids) == 0 {
			break
		}
		steps := make([]store.Step, len(ids))
		for i, id := range ids {
			steps[i] = n.ending(id, in)
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
