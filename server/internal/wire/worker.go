package wire

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// WorkerQueue says whether workers keep up with an error table, or with a lane of staged
// work: what waits there for one, and who claims.
type WorkerQueue struct {
	Table       string    `json:"table,omitempty" doc:"an error table, whose retries are claimed"`
	Pipeline    string    `json:"pipeline,omitempty" doc:"with stage, a lane of staged work"`
	Stage       string    `json:"stage,omitempty" doc:"with pipeline, a lane of staged work"`
	Due         int64     `json:"due" doc:"how much is due and held by no worker; beyond some thousands, at least"`
	DueSince    time.Time `json:"due_since,omitzero" doc:"since when the first of it is"`
	Workers     int       `json:"workers" doc:"how many have claimed within five minutes, on all nodes; a claim that gets nothing counts"`
	LastClaimAt time.Time `json:"last_claim_at,omitzero" doc:"without it, nobody has claimed within seven days"`
	Unattended  bool      `json:"unattended" doc:"something is due, and no worker is alive"`
}

// Name is the table, or the lane as pipeline/stage.
func (q *WorkerQueue) Name() string {
	if q.Table != "" {
		return q.Table
	}
	return recoup.Lane{Pipeline: q.Pipeline, Stage: q.Stage}.String()
}

// Workers is the answer about who claims.
type Workers struct {
	Queues []WorkerQueue `json:"queues" doc:"every error table, and every lane in use"`
}
