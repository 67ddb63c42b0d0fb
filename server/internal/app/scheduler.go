package app

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// jobBudget is how long a request to run a job runs it for.
const jobBudget = 5 * time.Second

// newScheduler puts the jobs together. All nodes have them, and the one that
// leads runs them.
func (n *Node) newScheduler() (*scheduler.Clock, error) {
	parts := scheduler.Parts{Store: n.store, Engine: n.engine, Policy: n.engine.Policies.Current, Alerts: n.evaluator().Run, Doctor: n.checkUp}
	if late, can := n.store.(store.LateEvents); can {
		parts.LateEvents = late
	}
	parts.Jobs, parts.Folds = n.sliceJobs(), n.sliceFolds()
	return scheduler.New(scheduler.Options{
		Store: n.store, Node: n.name, Now: n.o.Now, Since: n.clock.since, NotifyTo: n.platformTeam, Logger: n.o.Logger,
		Idle: n.jobsWhenIdle(),
		Jobs: scheduler.All(parts),
	})
}

// platformTeam is who looks after the platform itself.
func (n *Node) platformTeam() string {
	return n.engine.Policies.Current().OrphanTable.Owner(recoup.MaxTier)
}

// resign lets another node lead at once.
func (n *Node) resign(ctx context.Context) error {
	if n.jobs == nil {
		return nil
	}
	return n.jobs.Resign(ctx)
}

// jobRunner is what the API asks of the jobs.
type jobRunner struct{ *scheduler.Clock }

// RunJob runs a job, chunk by chunk, for a while.
func (o jobRunner) RunJob(ctx context.Context, name string) (wire.JobRun, error) {
	return o.Run(ctx, name, jobBudget)
}
