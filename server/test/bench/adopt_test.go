package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	testnode "github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// narrow is a table of five columns, two of them short texts, with no index but its key:
// the least that an insert can cost, beside which what adoption adds weighs most.
const narrow = `(id bigint generated always as identity primary key, order_id text, code text, message text, created_at timestamptz default now())`

// ordinary is a table as services have them: twelve columns, a message of 200 bytes, a
// key, and indexes on the entity and on the time.
const ordinary = `(id bigint generated always as identity primary key, order_id text not null, customer_id bigint not null default 7, code text not null,
	severity text not null default 'HIGH', message text not null, service text not null default 'billing', endpoint text default '/v1/charges', http_status int default 504,
	attempt int not null default 1, request_id uuid not null default gen_random_uuid(), created_at timestamptz not null default now())`

// BenchmarkAdoptedWriters inserts into a table that is adopted, and into its twin that is
// not: the ratio is what writers keep. Rows come one by one or 500 at once; with mirror
// columns or without. Rows are made by the server: a client that sends them would hide a
// part of what adoption costs behind its own work.
func BenchmarkAdoptedWriters(b *testing.B) {
	for _, table := range []struct{ name, columns, message, indexes string }{
		{"narrow", narrow, "it took too long", ""},
		{"ordinary", ordinary, strings.Repeat("upstream took long, ", 10), "create index on shop.%[1]s (order_id); create index on shop.%[1]s (created_at)"},
	} {
		for _, mirror := range []bool{true, false} {
			for _, rows := range []int{1, 500} {
				name := fmt.Sprintf("%s/mirror=%v/rows=%d", table.name, mirror, rows)
				b.Run(name, func(b *testing.B) {
					w := newAdoption(b)
					for _, name := range []string{"failures", "twin"} {
						execute(b, w.conn, fmt.Sprintf("create table shop.%s %s; ", name, table.columns)+fmt.Sprintf(table.indexes+"/*%[1]s*/", name))
					}
					w.adopt(!mirror)
					execute(b, w.conn, "update recoup.adoption set indexed_to = 1000000000000") // nodes keep up: writers index nothing (decision 0088)
					insert := func(name string) turn {
						sql := fmt.Sprintf("insert into shop.%s (order_id, code, message) select 'order-' || n, 'TIMEOUT', $2 from generate_series(1, $1::int) n", name)
						many := max(1, 20/rows) // the clock of processes ticks slowly
						return just(func() {
							for range many {
								execute(b, w.conn, sql, rows, table.message)
							}
						})
					}
					c := contest{B: b}
					for b.Loop() {
						c.round(rows*max(1, 20/rows), insert("failures"), insert("twin"))
					}
					c.report("rows", "unadopted")
				})
			}
		}
	}
}

// BenchmarkAdoptedRows is how fast one node governs rows: those that were there, and
// those of a COPY.
func BenchmarkAdoptedRows(b *testing.B) {
	const rows = 5000
	fill := fmt.Sprintf("insert into shop.failures (order_id, code, message) select 'order-' || n, 'TIMEOUT', repeat('upstream took long, ', 10) from generate_series(1, %d) n", rows)
	for _, name := range []string{"backfill", "follow"} {
		b.Run(name, func(b *testing.B) {
			w := newAdoption(b)
			execute(b, w.conn, "create table shop.failures "+ordinary)
			if name == "follow" {
				w.adopt(false)
			}
			c := contest{B: b}
			for b.Loop() {
				execute(b, w.conn, fill)
				if name == "backfill" && len(c.ours) == 0 {
					w.adopt(false)
				} else if name == "backfill" { // again, from where it was
					execute(b, w.conn, "delete from recoup.adopted_change; update recoup.adoption set state = 'BACKFILLING', scan_end = null")
				}
				c.alone(rows, just(w.settle))
			}
			c.report("rows", "")
		})
	}
}

// adopting is a node on a database with a table of somebody else's.
type adopting struct {
	*testing.B
	conn    *pgx.Conn
	service *adoption.Service
}

func newAdoption(b *testing.B) *adopting {
	b.Helper()
	s, conn := openPostgres(b)
	w := &adopting{B: b, conn: conn, service: newAdoptionService(b, s)}
	execute(b, conn, "create schema shop")
	return w
}

func newAdoptionService(b *testing.B, s *postgres.Store) *adoption.Service {
	b.Helper()
	clock := testnode.NewClock(time.Now())
	policies, ids := engine.NewPolicies(policy.Default()), recoup.NewIDSource(rand.Reader)
	e, err := engine.New(engine.Options{Store: s, Ledger: &testnode.Ledger{Codes: fault.Default()}, Policies: policies, Codes: fault.Default, Now: clock.Now, IDs: ids})
	must(b, err)
	keys, err := deadletter.NewKeyring(b.Context(), s, rand.Reader, clock.Now())
	must(b, err)
	letters, err := deadletter.New(deadletter.Options{Store: s, Policies: policies, Codes: fault.Default, Keys: keys, Now: clock.Now, Random: func() float64 { return 1 }, IDs: ids})
	must(b, err)
	rows, err := adoption.Open(s)
	must(b, err)
	service, err := adoption.New(adoption.Options{
		Store: rows, Engine: e, Letters: letters, Key: func(context.Context) ([]byte, error) { return []byte("for digests"), nil }, Node: "bench", Now: clock.Now, Logger: slog.New(slog.DiscardHandler),
	})
	must(b, err)
	must(b, s.EnsurePartitions(b.Context(), clock.Now()))
	return service
}

func (w *adopting) adopt(noMirror bool) {
	w.Helper()
	plan, err := define.MakePlan(w.Context(), w.conn, define.Request{Source: "shop.failures", As: dol, Mapping: wire.Mapping{Entity: "order_id"}, NoMirror: noMirror})
	must(w, err)
	r := define.Runner{Conn: w.conn, Actor: "bench", Patience: time.Minute, Random: func() float64 { return 0.5 }, Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }}
	must(w, r.Apply(w.Context(), plan))
}

func (w *adopting) settle() { must(w, w.service.Settle(w.Context())) }
