package api

import (
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// workers says of the tables and lanes that the caller may see whether workers keep up.
func (a *API) workers(c *httpapi.Call, _ *struct{}) (wire.Workers, error) {
	p := a.Engine.Policies.Current()
	levels, err := a.Store.QueueLevels(c.Context(), c.Now, p.ClaimedTables())
	var list []wire.WorkerQueue
	for i := range levels {
		q := &levels[i]
		if q.Table != "" && !a.mayTouch(c, q.Table) || q.Table == "" && !c.Caller.Of(p.PipelineHub(q.Lane.Pipeline).ID) {
			continue
		}
		list = append(list, workerQueue(q))
	}
	return wire.Workers{Queues: httpapi.Listed(list)}, err
}

func workerQueue(q *store.QueueLevel) wire.WorkerQueue {
	return wire.WorkerQueue{
		Table: q.Table, Pipeline: q.Lane.Pipeline, Stage: q.Lane.Stage, Due: q.N, DueSince: q.Since,
		Workers: len(q.Workers), LastClaimAt: q.LastClaimAt, Unattended: q.N > 0 && len(q.Workers) == 0,
	}
}
