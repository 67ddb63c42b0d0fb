package api

import (
	"context"
	"errors"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Jobs is the scheduled jobs.
type Jobs interface {
	Statuses(ctx context.Context) ([]wire.Job, error)
	Leader(ctx context.Context) (string, error)
	Preview(ctx context.Context, name string) (wire.JobRun, error)
	RunJob(ctx context.Context, name string) (wire.JobRun, error)
}

// actJobRun is how the audit names a job that a person has run.
const actJobRun = "job.run"

func (a *API) listJobs(c *httpapi.Call, _ *struct{}) (wire.Jobs, error) {
	leader, err := a.Jobs.Leader(c.Context())
	if err != nil {
		return wire.Jobs{}, err
	}
	jobs, err := a.Jobs.Statuses(c.Context())
	return wire.Jobs{Leader: leader, Jobs: jobs}, err
}

type runJobIn struct {
	Name string `path:"name" doc:"one of the scheduled jobs"`
	Body wire.JobRunRequest
}

// runJob runs a job for a few seconds, or counts what it would do. Who asked for a
// run is written down before it begins.
func (a *API) runJob(c *httpapi.Call, in *runJobIn) (wire.JobRun, error) {
	ctx := c.Context()
	if err := check.Reason(in.Body.Reason); err != nil {
		return wire.JobRun{}, err
	}
	would, err := a.Jobs.Preview(ctx, in.Name)
	if err != nil || in.Body.DryRun {
		return would, jobFailure(err)
	}
	if err := a.Store.AppendAudit(ctx, c.Act(in.Body.Reason).On(actJobRun, in.Name, nil)); err != nil {
		return wire.JobRun{}, err
	}
	ran, err := a.Jobs.RunJob(ctx, in.Name)
	return ran, jobFailure(err)
}

// jobFailure says what is wrong with a request for a job. The name is not
// repeated: it may be anything.
func jobFailure(err error) error {
	switch {
	case errors.Is(err, scheduler.ErrNoJob):
		return fault.Wrap(err, fault.CodeNotFound, "There is no job of this name; GET /v1/jobs lists them.")
	case errors.Is(err, scheduler.ErrNotLeader):
		return fault.Wrap(err, fault.CodeConflict, "Only the node that leads can run this job; it does so by itself, or when asked there.")
	}
	return err
}
