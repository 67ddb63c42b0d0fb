package bench

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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

// BenchmarkHorizon claims and finishes staged work in a database in which a
// transaction has been open for a while, beside 2,000 pieces of work a second that
// came and went meanwhile, and in one in which nothing happened. Such a transaction
// keeps every dead row from being vacuumed. Target: 0.9.
func BenchmarkHorizon(b *testing.B) {
	s, owner := openPostgres(b)
	fresh, _ := openPostgres(b)
	busy, idle, c := newQueue(b, s), newQueue(b, fresh), contest{B: b}
	old, err := owner.BeginTx(b.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(b, err)
	var seen int
	must(b, old.QueryRow(b.Context(), "select count(*) from recoup.replay").Scan(&seen))
	produced := busy.produce(horizon(b))
	for b.Loop() {
		for range workRounds {
			busy.load(backlog)
			idle.load(backlog)
			c.round(backlog, just(func() { busy.drain(4) }), just(func() { idle.drain(4) }))
		}
	}
	must(b, old.Rollback(b.Context()))
	c.report("items", "idle")
	b.ReportMetric(float64(produced), "produced")
}

// produce submits work at a steady rate and has it claimed and finished, for a time.
func (q *queue) produce(during time.Duration) (produced int) {
	q.Helper()
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for end := time.Now().Add(during); time.Now().Before(end); produced += producedPerTick {
		<-clock.C
		q.submit(0, producedPerTick)
		q.drain(1)
	}
	return produced
}
