package bench

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

const (
	producedPerTick = 100
	tick            = 50 * time.Millisecond // 2,000 a second
)

// horizon is how long an old transaction is open before it is measured: the ten
// minutes of docs/performance.md with RECOUP_HORIZON=10m.
func horizon(b *testing.B) time.Duration {
	b.Helper()
	text := os.Getenv("RECOUP_HORIZON")
	if text == "" {
		return 10 * time.Second
	}
	d, err := time.ParseDuration(text)
	must(b, err)
	return d
}

// BenchmarkHorizon claims and finishes staged work, and governed errors, in a database
// in which a transaction has been open for a while, beside 2,000 pieces of work or
// errors a second that came and went meanwhile, and in one in which nothing happened.
// Such a transaction keeps every dead row from being vacuumed. Target: 0.9.
func BenchmarkHorizon(b *testing.B) {
	b.Run("work", func(b *testing.B) {
		pin(b, "items", func(s *postgres.Store) pinned { return newQueue(b, s) })
	})
	b.Run("errors", func(b *testing.B) {
		pin(b, "errors", func(s *postgres.Store) pinned { return errorsOf{newNode(b, s)} })
	})
}

// pinned is work that comes and goes while the horizon stands still.
type pinned interface {
	submit(first, items int) // which can be claimed then
	drain(workers int)       // claims and finishes until there is nothing left
}

// errorsOf has a node's errors be work.
type errorsOf struct{ *node }

func (e errorsOf) submit(_, items int) {
	e.report(items)
	e.now = e.now.Add(5 * time.Second) // the first retry is due after two
}

func pin(b *testing.B, unit string, on func(*postgres.Store) pinned) {
	s, owner := openPostgres(b)
	fresh, _ := openPostgres(b)
	busy, idle, c := on(s), on(fresh), contest{B: b}
	old, err := owner.BeginTx(b.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(b, err)
	var seen int
	must(b, old.QueryRow(b.Context(), "select count(*) from recoup.replay").Scan(&seen))
	produced := produce(busy, horizon(b))
	for b.Loop() {
		for range workRounds {
			for first := 0; first < backlog; first += workBatch {
				busy.submit(first, workBatch)
				idle.submit(first, workBatch)
			}
			c.round(backlog, just(func() { busy.drain(4) }), just(func() { idle.drain(4) }))
		}
	}
	must(b, old.Rollback(b.Context()))
	c.report(unit, "idle")
	b.ReportMetric(float64(produced), "produced")
}

// produce submits work at a steady rate and has it claimed and finished, for a time.
func produce(work pinned, during time.Duration) (produced int) {
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); produced += producedPerTick {
		<-clock.C
		work.submit(0, producedPerTick)
		work.drain(1)
	}
	return produced
}
