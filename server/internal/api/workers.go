package api

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// workers says of the tables and lanes that the caller may see whether workers keep up.
func (a *API) workers(c *httpapi.Call, _ *struct{}) (client.Workers, error) {
	p := a.Engine.Policies.Current()
	levels, err := a.Store.QueueLevels(c.Context(), c.Now, p.ClaimedTables())
	var list []recoup.WorkerQueue
	for i := range levels {
		q := &levels[i]
		if q.Table != "" && !a.mayTouch(c, q.Table) || q.Table == "" && !c.Caller.Of(p.PipelineHub(q.Lane.Pipeline).ID) {
			continue
		}
		list = append(list, workerQueue(q))
	}
	return client.Workers{Queues: httpapi.Listed(list)}, err
}

func workerQueue(q *store.QueueLevel) recoup.WorkerQueue {
	return recoup.WorkerQueue{
		Table: q.Table, Pipeline: q.Lane.Pipeline, Stage: q.Lane.Stage, Due: q.N, DueSince: q.Since,
		Workers: len(q.Workers), LastClaimAt: q.LastClaimAt, Unattended: q.N > 0 && len(q.Workers) == 0,
	}
}
