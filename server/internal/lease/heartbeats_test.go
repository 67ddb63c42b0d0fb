package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// kept is what Heartbeats have written.
type kept struct {
	beats  []store.Heartbeat
	purges []time.Time
	err    error
}

func (k *kept) SaveHeartbeats(_ context.Context, beats []store.Heartbeat) error {
	if k.err == nil {
		k.beats = append(k.beats, beats...)
	}
	return k.err
}

func (k *kept) PurgeHeartbeats(_ context.Context, before time.Time, _ int) (int, error) {
	k.purges = append(k.purges, before)
	return 0, nil
}

// flush writes, and returns what was written by it.
func (k *kept) flush(t *testing.T, r *lease.Heartbeats) []store.Heartbeat {
	t.Helper()
	k.beats = nil
	if err := r.Flush(t.Context()); !errors.Is(err, k.err) {
		t.Fatal(err)
	}
	return k.beats
}

// Heartbeats write a row for each queue that was claimed from since the last time, with
// the workers that are alive, and nothing while nobody claims.
func TestRoster(t *testing.T) {
	t.Parallel()
	now, k := time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC), &kept{}
	r := lease.NewHeartbeats(k, "n1", func() time.Time { return now })
	var none *lease.Heartbeats
	none.Claims("w1", "t")
	for range 3 {
		r.Claims("w1", "t", "p/s")
	}
	r.Claims("w2", "t")
	if got := k.flush(t, r); len(got) != 2 || got[0].Queue != "p/s" || len(got[0].Workers) != 1 || len(got[1].Workers) != 2 || got[1].Node != "n1" {
		t.Errorf("written is %+v", got)
	}
	if got := k.flush(t, r); len(got) != 0 {
		t.Errorf("without a claim %+v is written", got)
	}
	now = now.Add(store.WorkerAlive)
	k.err = errors.New("the database is away")
	r.Claims("w2", "t")
	k.flush(t, r)
	k.err = nil
	if got := k.flush(t, r); len(got) != 1 || len(got[0].Workers) != 1 || got[0].Workers[0].Name != "w2" || !got[0].LastClaimAt.Equal(now) {
		t.Errorf("later, and once the database is back, written is %+v", got)
	}
	if len(k.purges) != 1 || !k.purges[0].Equal(now.Add(-store.HeartbeatLife-store.WorkerAlive)) {
		t.Errorf("purged was %v", k.purges)
	}
}

// Callers name lanes and workers: however many they name, Heartbeats stay small, and
// that somebody claims is known all the same.
func TestRosterIsBounded(t *testing.T) {
	t.Parallel()
	now, k := time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC), &kept{}
	r := lease.NewHeartbeats(k, "n1", func() time.Time { return now })
	for i := range 3000 {
		now = now.Add(time.Millisecond)
		r.Claims(fmt.Sprint("w", i), "t", fmt.Sprint("p/s", i))
	}
	got := k.flush(t, r)
	if len(got) != 1000 {
		t.Errorf("%d queues are written", len(got))
	}
	if last := got[len(got)-1]; last.Queue != "t" || len(last.Workers) != 100 || !last.LastClaimAt.Equal(now) {
		t.Errorf("of t %d workers are written, the last claim at %v", len(last.Workers), last.LastClaimAt)
	}
	now = now.Add(store.WorkerAlive)
	k.flush(t, r)
	if r.Claims("w", "p/new"); len(k.flush(t, r)) != 1 {
		t.Error("what is over is not forgotten")
	}
}

// What a claim costs Heartbeats: some lookups.
func BenchmarkRoster(b *testing.B) {
	r := lease.NewHeartbeats(&kept{}, "n1", time.Now)
	tables := []string{"a.errors", "b.errors", "c.errors", "d.errors", "e.errors"}
	for b.Loop() {
		r.Claims("worker-1", tables...)
	}
}
