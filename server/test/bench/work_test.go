package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	backlog    = 40 * workBatch
	workRounds = 5 // at least, however short the benchmark
)

// BenchmarkWork claims and acknowledges errors in batches of 500, with history,
// guards, counts and the gate's log, beside River working jobs that do nothing,
// on the same server. What either has to work on is there already. Target: 1.2
// times River.
func BenchmarkWork(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		s, owner := openPostgres(b)
		rival, c := newRiver(b, owner.Config()), contest{B: b}
		n := newNode(b, s)
		for b.Loop() {
			for range workRounds {
				n.load(backlog / workBatch)
				rival.load()
				c.round(backlog, just(func() { n.drain(4) }), rival.drain)
			}
		}
		c.report("errors", "river")
	})
	b.Run("postgres/fail", func(b *testing.B) {
		s, owner := openPostgres(b)
		rival, c := newRiver(b, owner.Config()), contest{B: b}
		n := newNode(b, s)
		_, err := owner.Exec(b.Context(), "insert into recoup.error_code (code, domain, description) values ('NETWORK_TIMEOUT', 'runtime', '') on conflict do nothing")
		must(b, err)
		must(b, s.EnsureEventPartitions(b.Context(), n.now, 24*time.Hour))
		for b.Loop() {
			for range workRounds {
				n.load(backlog / workBatch)
				rival.load()
				c.round(backlog, just(func() { n.work(4, n.fail) }), rival.drain)
				n.now = n.now.Add(time.Hour)
				n.drain(4) // nothing is left of the round
			}
		}
		c.report("errors", "river")
	})
	b.Run("sqlite", func(b *testing.B) {
		s, _ := openSQLite(b)
		n, c := newNode(b, s), contest{B: b}
		for b.Loop() {
			b.StopTimer()
			n.load(4)
			b.StartTimer()
			c.alone(4*workBatch, just(func() { n.drain(1) }))
		}
		c.report("errors", "")
	})
}

// rapids is River with the settings of its own benchmark command, which its
// authors found the fastest.
type rapids struct {
	*testing.B
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
}

type noop struct {
	N int `json:"n"`
}

func (noop) Kind() string { return "noop" }

type noopWorker struct{ river.WorkerDefaults[noop] }

func (noopWorker) Work(context.Context, *river.Job[noop]) error { return nil }

// newRiver migrates a database of River's own, beside ours.
func newRiver(b *testing.B, beside *pgx.ConnConfig) *rapids {
	b.Helper()
	config, err := pgxpool.ParseConfig(beside.ConnString())
	must(b, err)
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	must(b, err)
	b.Cleanup(pool.Close)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	must(b, err)
	_, err = migrator.Migrate(b.Context(), rivermigrate.DirectionUp, nil)
	must(b, err)
	return &rapids{B: b, pool: pool}
}

// load inserts a backlog of jobs into an empty table, and makes a client that has not begun.
func (r *rapids) load() {
	r.Helper()
	_, err := r.pool.Exec(r.Context(), "truncate river_job")
	must(r, err)
	workers := river.NewWorkers()
	river.AddWorker(workers, noopWorker{})
	r.client, err = river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Workers: workers, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	must(r, err)
	const batch = 5000
	for first := 0; first < backlog; first += batch {
		params := make([]river.InsertManyParams, batch)
		for i := range params {
			params[i].Args = noop{first + i}
		}
		_, err := r.client.InsertManyFast(r.Context(), params)
		must(r, err)
	}
}

// drain works until every job is recorded as completed, and lets the client shut
// down when the time has been taken.
func (r *rapids) drain() func() {
	r.Helper()
	done, stop := r.client.SubscribeConfig(&river.SubscribeConfig{ChanSize: 2 * backlog, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	must(r, r.client.Start(r.Context()))
	for range backlog {
		if event := <-done; event == nil {
			r.Fatal("River has stopped")
		}
	}
	return func() {
		stop()
		must(r, r.client.Stop(r.Context()))
	}
}

// BenchmarkReport records first reports, which close the gates of their
// entities, in batches of this size.
func BenchmarkReport(b *testing.B) {
	for _, size := range []int{1, 100, workBatch} {
		run := func(name string, open func() *node) {
			b.Run(fmt.Sprintf("%s/batch=%d", name, size), func(b *testing.B) {
				n, c := open(), contest{B: b}
				n.B = b
				for b.Loop() {
					c.alone(size, just(func() { n.report(size) }))
				}
				c.report("errors", "")
			})
		}
		run("postgres", func() *node { s, _ := openPostgres(b); return newNode(b, s) })
		run("sqlite", func() *node { s, _ := openSQLite(b); return newNode(b, s) })
	}
}
