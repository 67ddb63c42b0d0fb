package store

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const (
	// WorkerAlive is for how long a worker counts as alive after its last claim: several
	// times as long as a long poll may wait, which comes back empty and is sent again.
	WorkerAlive = 5 * time.Minute

	// HeartbeatLife is for how long a queue is known to have been claimed from.
	HeartbeatLife = 7 * 24 * time.Hour

	// MaxHeartbeats is how many heartbeats are read, the latest first.
	MaxHeartbeats = 5000
)

// Heartbeat is which workers claim from a queue, as one node has seen it. A queue is
// named by an error table or, as pipeline/stage, by a lane of staged work.
type Heartbeat struct {
	Queue       string
	Node        string
	LastClaimAt time.Time
	Workers     []WorkerSeen
}

// WorkerSeen is when a worker has claimed last.
type WorkerSeen struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// Heartbeats describes the rows of heartbeats.
var Heartbeats = sqldb.Table[Heartbeat]{Name: "recoup.worker_heartbeat", Columns: []sqldb.Column[Heartbeat]{
	sqldb.Text("queue", func(h *Heartbeat) *string { return &h.Queue }).Key(),
	sqldb.Text("node", func(h *Heartbeat) *string { return &h.Node }).Key(),
	sqldb.Time("last_claim_at", func(h *Heartbeat) *time.Time { return &h.LastClaimAt }),
	sqldb.List("workers", func(h *Heartbeat) *[]WorkerSeen { return &h.Workers }),
}}

// Unclaimed is how much of a queue is due and held by nobody, and since when the
// first of it is.
type Unclaimed struct {
	Table string      // empty: it is a lane
	Lane  recoup.Lane // zero: it is a table
	N     int64
	Since time.Time
}

// Queue names the table or the lane.
func (u *Unclaimed) Queue() string {
	if u.Table != "" {
		return u.Table
	}
	return u.Lane.String()
}

// QueueLevel is how a queue stands: what waits there for a worker, and who claims.
type QueueLevel struct {
	Unclaimed
	Workers     []string  // that have claimed within [WorkerAlive], by name
	LastClaimAt time.Time // zero: nobody has within [HeartbeatLife]
}

// Unattended is for how long what is due has waited where no worker is alive.
func (q *QueueLevel) Unattended(now time.Time) time.Duration {
	if q.N == 0 || len(q.Workers) > 0 {
		return 0
	}
	return q.Waited(now)
}

// Waited is for how long the first of what is due has waited for a worker.
func (q *QueueLevel) Waited(now time.Time) time.Duration {
	if q.N == 0 {
		return 0
	}
	return max(now.Sub(q.Since), 0)
}

// QueueLevels puts together how queues stand at now, by name, tables before lanes: all
// tables, and every lane in which something waits or from which somebody has claimed.
func QueueLevels(now time.Time, tables []string, waiting []Unclaimed, beats []Heartbeat) []QueueLevel {
	levels := map[string]*QueueLevel{}
	for _, table := range tables {
		levels[table] = &QueueLevel{Unclaimed: Unclaimed{Table: table}}
	}
	for _, u := range waiting {
		levels[u.Queue()] = &QueueLevel{Unclaimed: u}
	}
	alive := map[string]map[string]bool{}
	for i := range beats {
		beat := &beats[i]
		level := levels[beat.Queue]
		if level == nil {
			lane, ok := recoup.ParseLane(beat.Queue)
			if !ok {
				continue // a table that was not asked for
			}
			level = &QueueLevel{Unclaimed: Unclaimed{Lane: lane}}
			levels[beat.Queue] = level
		}
		if beat.LastClaimAt.After(level.LastClaimAt) {
			level.LastClaimAt = beat.LastClaimAt
		}
		for _, w := range beat.Workers {
			if now.Sub(w.At) < WorkerAlive {
				if alive[beat.Queue] == nil {
					alive[beat.Queue] = map[string]bool{}
				}
				alive[beat.Queue][w.Name] = true
			}
		}
	}
	list := make([]QueueLevel, 0, len(levels))
	for queue, level := range levels {
		level.Workers = slices.Sorted(maps.Keys(alive[queue]))
		list = append(list, *level)
	}
	slices.SortFunc(list, func(a, b QueueLevel) int {
		return cmp.Or(cmp.Compare(a.Lane.Pipeline, b.Lane.Pipeline), cmp.Compare(a.Lane.Stage, b.Lane.Stage), cmp.Compare(a.Table, b.Table))
	})
	return list
}
