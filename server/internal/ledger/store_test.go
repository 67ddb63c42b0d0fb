package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
)

// realStore is what the tests need of a store beside what the writer does.
type realStore interface {
	ledger.Store
	store.CodeRegistry
	store.EventReader
}

// ready registers the codes.
func ready(t *testing.T, l realStore) realStore {
	t.Helper()
	if err := l.SyncCodes(t.Context(), epoch(), fault.Default().All()); err != nil {
		t.Fatal(err)
	}
	return l
}

// onBothStores runs a test on a real SQLite, in a bubble that shows that no
// goroutine is left behind, and on a real PostgreSQL, whose sockets no bubble holds.
func onBothStores(t *testing.T, try func(t *testing.T, l realStore)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { try(t, ready(t, sqlitetest.Open(t))) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		try(t, ready(t, pgtest.Open(t)))
	})
}

// stored returns all events, by id.
func stored(t *testing.T, l realStore) map[recoup.ID]store.Event {
	t.Helper()
	found := map[recoup.ID]store.Event{}
	page := sqldb.Page{Limit: sqldb.MaxPage}
	for {
		list, next, err := l.Events(t.Context(), store.EventFilter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if _, twice := found[e.ID]; twice {
				t.Errorf("the event %v is there twice", e.ID)
			}
			found[e.ID] = e
		}
		if next.IsZero() {
			return found
		}
		page.Cursor = next
	}
}

// counted is how many events the rollups know of.
func counted(t *testing.T, l realStore) (n int64) {
	t.Helper()
	counts, err := l.TopCodes(t.Context(), store.Span{From: epoch().Add(-2 * retention), To: epoch().Add(48 * time.Hour)}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		n += c.Count
	}
	return n
}

// TestManyProducers sends governed events of many producers through one writer.
func TestManyProducers(t *testing.T) {
	onBothStores(t, func(t *testing.T, l realStore) {
		const producers, batches, size = 8, 5, 40
		g, tally := newGovernor(t)
		w := newWriter(t, l, func(o *ledger.Options) { o.Tally, o.BatchSize, o.Flushers = tally, 100, 2 })
		var mu sync.Mutex
		want := map[recoup.ID]store.Event{}
		var working sync.WaitGroup
		for p := range producers {
			working.Go(func() {
				random := rand.New(rand.NewPCG(uint64(p), 1))
				for range batches {
					got := govern(g, drawn(random, size))
					r, err := w.Append(t.Context(), got.Events)
					if err == nil {
						err = r.Wait(t.Context())
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, e := range got.Events {
						want[e.ID] = e
					}
					mu.Unlock()
				}
			})
		}
		working.Wait()
		mustClose(t, w)
		found := stored(t, l)
		if len(found) != len(want) || counted(t, l) != int64(len(want)) {
			t.Errorf("%d events are there, %d counted, want %d", len(found), counted(t, l), len(want))
		}
		for id, e := range want {
			if got := found[id]; fmt.Sprint(got) != fmt.Sprint(e) {
				t.Fatalf("got\n%+v, want\n%+v", got, e)
			}
		}
		wantDrops(t, l, tally.Totals())
	})
}

// wantDrops says that the store has counted all that the tally has.
func wantDrops(t *testing.T, l realStore, want map[string]int64) {
	t.Helper()
	today := store.Day(time.Unix(0, 0)).AddDate(200, 0, 0)
	drops, err := l.Drops(t.Context(), store.Day(time.Unix(0, 0)), today)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, d := range drops {
		got[d.Reason] += d.N
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(want) == 0 {
		t.Errorf("the store counts %v, want %v", got, want)
	}
}

// drawn returns events as the worst of clients send them.
func drawn(random *rand.Rand, n int) []ledger.Incoming {
	texts := []string{"", "billing", "größe", "a\x00b", "\xff", "'; drop table error_event; --", "<b>", "  ", "\u2028", "zerobounce", "日本語", secrets()[3]}
	codes := []recoup.Code{"NETWORK_TIMEOUT", "rate_limited", "never_heard_of", "", "a-b"}
	details := []any{true, "x", "items[0].größe", 1e300, float64(1 << 40), nil, []any{1}, "W/\"5c3\"", "\u0000"}
	text := func() string { return texts[random.IntN(len(texts))] }
	list := make([]ledger.Incoming, n)
	for i := range list {
		list[i].Event = recoup.Event{
			Code: codes[random.IntN(len(codes))], Service: texts[1+random.IntN(2)], Endpoint: text(), Region: text(),
			ExternalService: text(), Tenant: text(), HTTPStatus: random.IntN(3) * 250,
			TS: epoch().Add(-time.Duration(random.Int64N(int64(retention)))),
		}
		list[i].Details = map[string]any{}
		for _, key := range []string{"retryable", "field", "limit", "window_sec", "expected_etag", "existing_id", "body"} {
			if random.IntN(2) == 0 {
				list[i].Details[key] = details[random.IntN(len(details))]
			}
		}
	}
	return list
}

// TestRealPoison sends an event that the governor would have refused past it: the
// stores refuse it, and it alone.
func TestRealPoison(t *testing.T) {
	onBothStores(t, func(t *testing.T, l realStore) {
		w := newWriter(t, l, nil)
		source := newEvents()
		good, bad := source.make(50), source.make(50)
		bad[20].Code = "NOBODY_REGISTERED_ME"
		bad[30].Details = map[string]any{"body": "x"}
		first, second := mustAppend(t, w, good), mustAppend(t, w, bad)
		if err := first.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if err := second.Wait(t.Context()); !errors.Is(err, store.ErrRefused) {
			t.Errorf("the sender gets %v", err)
		}
		mustClose(t, w)
		if found := stored(t, l); len(found) != 98 {
			t.Errorf("%d events are there", len(found))
		}
		wantDrops(t, l, map[string]int64{ledger.DropRefusedByStore: 2})
	})
}

// TestServerGoesAway stops, kills and starts PostgreSQL under load. Producers send a
// batch again, with the same ids, until it is acknowledged.
func TestServerGoesAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	url := server.New(t)
	if err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	l := ready(t, pgtest.OpenURL(t, url))
	w := newWriter(t, l, func(o *ledger.Options) {
		o.BatchSize, o.Flushers, o.WaitLimit = 200, 2, 300*time.Millisecond
	})
	source := newEvents()
	var acknowledged atomic.Int64
	ticks := make(chan struct{}, 1024)
	ctx, stop := context.WithCancel(t.Context())
	var producers sync.WaitGroup
	for range 4 {
		producers.Go(func() {
			for ctx.Err() == nil {
				events := source.make(20)
				for deliver(t.Context(), w, events) != nil {
				}
				acknowledged.Add(20)
				select {
				case ticks <- struct{}{}:
				default:
				}
			}
		})
	}
	for _, end := range []func(){server.Stop, server.Kill, server.Stop} {
		for range 20 {
			<-ticks
		}
		end()
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		<-ticks
	}
	stop()
	producers.Wait()
	mustClose(t, w)
	if found := int64(len(stored(t, l))); found != acknowledged.Load() || counted(t, l) != found {
		t.Errorf("%d events are there, %d counted, %d acknowledged", found, counted(t, l), acknowledged.Load())
	}
	if s := w.Stats(); s.Failures == 0 {
		t.Errorf("the server was never missed: %+v", s)
	}
}

func deliver(ctx context.Context, w *ledger.Writer, events []store.Event) error {
	r, err := w.Append(ctx, events)
	if err != nil {
		return err
	}
	return r.Wait(ctx)
}
