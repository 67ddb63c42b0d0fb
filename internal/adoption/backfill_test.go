package adoption_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"recoup/internal/adoption"
)

// One run of a node goes on with a backfill behind each of its rests, which are a
// quarter of the time that a batch took: it does not wait for the next run.
func TestBackfillGoesOnBehindItsRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("insert into shop.failures (order_id, kind, at) select 'o' || n, 'TIMEOUT', '2026-02-02 09:00' from generate_series(1, 1200) n")
	w.adopt(mapping)
	var rests []time.Duration
	s, err := adoption.New(adoption.Options{
		Store: w.db, Engine: w.Engine, Keys: w.Letters.Keys, Key: func(context.Context) ([]byte, error) { return []byte("for digests"), nil }, Node: "a", Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Now:   func() time.Time { w.Wait(time.Millisecond); return w.Now() }, // everything takes its time
		Sleep: func(_ context.Context, d time.Duration) error { rests = append(rests, d); w.Wait(d); return nil },
	})
	w.Must(err)
	w.Must(s.Run(t.Context()))
	w.Must(s.Close(t.Context()))
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
