package adoption_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/adoption"
)

// One run of a node goes on with a backfill behind each of its rests, which are a
// quarter of the time that a batch took: it does not wait for the next run.
func TestBackfillGoesOnBehindItsRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("insert into shop.failures (order_id, kind, at) select 'o' || n, 'TIMEOUT', '2026-02-02 09:00' from generate_series(1, 1200) n")
	w.adopt(mapping)
	var rests []time.Duration
	w.fill(func(d time.Duration) { rests = append(rests, d) })
	w.want("select state, scanned from recoup.adoption", "GOVERNED 1200")
	if len(rests) != 3 {
		t.Fatalf("it rested %v", rests)
	}
	for _, d := range rests {
		if d <= 0 || d > 250*time.Millisecond {
			t.Errorf("it rested %s", d)
		}
	}
}

// A backfill ends where the table ended when it began: what is written meanwhile is seen
// by triggers, though it comes faster than the backfill goes.
func TestBackfillEndsWhileOthersWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const insert = "insert into shop.failures (order_id, kind, at) select 'o' || n, 'TIMEOUT', '2026-02-02 09:00' from generate_series(1, 1200) n"
	w.exec(insert)
	w.adopt(mapping)
	writes := 0
	w.fill(func(time.Duration) {
		if writes++; writes <= 10 {
			w.exec(insert)
		}
	})
	w.want("select state, scanned, scan_end from recoup.adoption", "GOVERNED 1200 1200")
	w.settle()
	w.want("select count(*) from shop.failures where not exists (select from recoup.adopted_row where key = id::text)", "0")
}

// fill lets a node work to whom everything takes its time, until there is nothing to do.
func (w *world) fill(rest func(time.Duration)) {
	w.Helper()
	s, err := adoption.New(adoption.Options{
		Store: w.rows, Engine: w.Engine, Letters: w.Letters, Key: func(context.Context) ([]byte, error) { return []byte("for digests"), nil }, Node: "a", Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Now:   func() time.Time { w.Wait(time.Millisecond); return w.Now() },
		Sleep: func(_ context.Context, d time.Duration) error { rest(d); w.Wait(d); return nil },
	})
	w.Must(err)
	for range 10 { // a turn ends after ten seconds of its clock
		w.Must(s.Run(w.Context()))
		w.Must(s.Close(w.Context()))
		if w.ask("select state from recoup.adoption") == "GOVERNED" {
			return
		}
	}
}
