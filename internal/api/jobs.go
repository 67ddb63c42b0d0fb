package api

import (
	"context"
	"errors"

	"recoup/client"
	"recoup/fault"
	"recoup/internal/check"
	"recoup/internal/clockwork"
)

// Jobs is the regular work of the clock.
type Jobs interface {
	Statuses(ctx context.Context) ([]clockwork.Status, error)
	Leader(ctx context.Context) (string, error)
	Preview(ctx context.Context, name string) (clockwork.Ran, error)
	RunJob(ctx context.Context, name string) (clockwork.Ran, error)
}

// actJobRun is how the audit names a job that a person has run.
const actJobRun = "job.run"

func (a *API) listJobs(c *call, _ *struct{}) (client.Jobs, error) {
	leader, err := a.Jobs.Leader(c.r.Context())
	if err != nil {
		return client.Jobs{}, err
	}
	jobs, err := a.Jobs.Statuses(c.r.Context())
	return client.Jobs{Leader: leader, Jobs: each(jobs, jobOf)}, err
}

func jobOf(s clockwork.Status) client.Job {
	k := s.Known
	return client.Job{
		Name: s.Name, About: s.About, Every: int64(s.Every.Seconds()), Late: s.Behind, Lag: int64(k.Lag.Seconds()),
		StartedAt: k.StartedAt, FinishedAt: k.FinishedAt, NextAt: s.Next, Rows: k.Rows, Runs: k.Runs, Failures: k.Failures, Error: k.Error,
	}
}

type runJobIn struct {
	Name string `path:"name" doc:"one of the scheduled jobs"`
	Body client.JobRun
}

// runJob runs a job for a few seconds, or counts what it would do. Who asked for a
// run is written down before it begins.
func (a *API) runJob(c *call, in *runJobIn) (client.JobRan, error) {
	ctx, out := c.r.Context(), client.JobRan{Name: in.Name, DryRun: in.Body.DryRun}
	if err := check.Reason(in.Body.Reason); err != nil {
		return out, err
	}
	would, err := a.Jobs.Preview(ctx, in.Name)
	if err != nil || in.Body.DryRun {
		out.Rows, out.More, out.Uncounted = int64(would.Rows), would.More, would.Uncounted
		return out, jobFailure(err)
	}
	if err := a.Store.AppendAudit(ctx, c.act(in.Body.Reason).On(actJobRun, in.Name, nil)); err != nil {
		return out, err
	}
	ran, err := a.Jobs.RunJob(ctx, in.Name)
	out.Rows, out.More = int64(ran.Rows), ran.More
	return out, jobFailure(err)
}

// jobFailure says what is wrong with a request for a job. The name is not
// repeated: it may be anything.
func jobFailure(err error) error {
	switch {
	case errors.Is(err, clockwork.ErrNoJob):
		return fault.Wrap(err, fault.CodeNotFound, "There is no job of this name; GET /v1/jobs lists them.")
	case errors.Is(err, clockwork.ErrNotLeader):
		return fault.Wrap(err, fault.CodeConflict, "Only the node that leads can run this job; it does so by itself, or when asked there.")
	}
	return err
}
