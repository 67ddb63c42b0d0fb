package lease

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const (
	// maxQueues and maxWorkers are how many queues a node remembers, and how many workers
	// of each: callers name lanes and workers. Beyond, a worker is not counted, but that
	// somebody has claimed is known.
	maxQueues  = 1000
	maxWorkers = 100

	// purgeEvery is how often heartbeats are purged that are too old to be of use.
	purgeEvery = time.Hour
)

// Heartbeats remembers which workers claim on this node, for those who ask whether any is
// alive. A claim costs it a few lookups in memory; what has changed is written by Flush,
// a row for each queue. A nil Heartbeats remembers nothing.
type Heartbeats struct {
	store store.HeartbeatWriter
	node  string
	now   func() time.Time

	mu     sync.Mutex
	queues map[string]*attendance
	purged time.Time
}

// attendance is who has claimed from a queue.
type attendance struct {
	last    time.Time
	workers map[string]time.Time
	changed bool // since it was written
}

// NewHeartbeats returns the heartbeats of a node, whose name no other process has.
func NewHeartbeats(s store.HeartbeatWriter, node string, now func() time.Time) *Heartbeats {
	return &Heartbeats{store: s, node: node, now: now, queues: map[string]*attendance{}}
}

// Claims notes that a worker claims from queues, whether it gets anything or not. Tables
// are named as they are, lanes by their String.
func (r *Heartbeats) Claims(worker string, queues ...string) {
	if r == nil {
		return
	}
	now := r.now().UTC()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, queue := range queues {
		a := r.queues[queue]
		if a == nil {
			if len(r.queues) >= maxQueues {
				continue
			}
			a = &attendance{workers: map[string]time.Time{}}
			r.queues[queue] = a
		}
		a.last, a.changed = now, true
		if _, known := a.workers[worker]; known || len(a.workers) < maxWorkers {
			a.workers[worker] = now
		}
	}
}

// Flush writes what has changed since the last time. What cannot be written is written
// the next time.
func (r *Heartbeats) Flush(ctx context.Context) error {
	if beats := r.changed(); len(beats) > 0 {
		if err := r.store.SaveHeartbeats(ctx, beats); err != nil {
			r.again(beats)
			return err
		}
	}
	now := r.now()
	if now.Sub(r.purged) < purgeEvery {
		return nil
	}
	_, err := r.store.PurgeHeartbeats(ctx, now.Add(-store.HeartbeatLife), sqldb.MaxPage)
	if err == nil {
		r.purged = now
	}
	return err
}

// changed returns the heartbeats that are to be written, by queue, and takes them as
// written. Queues and workers that are alive no more are forgotten.
func (r *Heartbeats) changed() []store.Heartbeat {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	var beats []store.Heartbeat
	for queue, a := range r.queues {
		if !a.changed {
			if now.Sub(a.last) >= store.WorkerAlive {
				delete(r.queues, queue)
			}
			continue
		}
		a.changed = false
		beat := store.Heartbeat{Queue: queue, Node: r.node, LastClaimAt: a.last}
		for worker, at := range a.workers {
			if now.Sub(at) >= store.WorkerAlive {
				delete(a.workers, worker)
				continue
			}
			beat.Workers = append(beat.Workers, store.WorkerSeen{Name: worker, At: at.Truncate(time.Second)})
		}
		slices.SortFunc(beat.Workers, func(a, b store.WorkerSeen) int { return cmp.Compare(a.Name, b.Name) })
		beats = append(beats, beat)
	}
	slices.SortFunc(beats, func(a, b store.Heartbeat) int { return cmp.Compare(a.Queue, b.Queue) })
	return beats
}

// again marks heartbeats as not written.
func (r *Heartbeats) again(beats []store.Heartbeat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range beats {
		if a := r.queues[beats[i].Queue]; a != nil {
			a.changed = true
		}
	}
}
