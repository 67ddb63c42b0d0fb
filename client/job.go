package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Jobs are the scheduled jobs.
type Jobs struct {
	Leader string `json:"leader,omitempty"` // the node that runs them; empty: none at the moment
	Jobs   []Job  `json:"jobs"`
}

// Job is a scheduled job and its last run.
type Job struct {
	Name       string    `json:"name"`
	About      string    `json:"about"`
	Every      int64     `json:"every_seconds"`
	Late       bool      `json:"late"`                 // it has been behind, or failing, for longer than allowed
	Lag        int64     `json:"lag_seconds"`          // age of the oldest item that waits for it
	StartedAt  time.Time `json:"started_at,omitzero"`  // the last run
	FinishedAt time.Time `json:"finished_at,omitzero"` // of the last run
	NextAt     time.Time `json:"next_at,omitzero"`     // when it begins again
	Rows       int64     `json:"rows"`                 // processed in all its runs
	Runs       int64     `json:"runs"`
	Failures   int64     `json:"failures"`
	Error      string    `json:"error,omitempty"` // of the last run
}

// JobRun asks for a job to be run now.
type JobRun struct {
	DryRun bool   `json:"dry_run,omitempty" doc:"only count what it would move"`
	Reason string `json:"reason,omitempty" maxLength:"1000"`
}

// JobRan is the answer to a [JobRun].
type JobRan struct {
	Name   string `json:"name"`
	DryRun bool   `json:"dry_run"`
	Rows   int64  `json:"rows"` // processed; in a dry run: what it would process
	More   bool   `json:"more"` // there is more to do: call again; in a dry run: there is more than was counted

	// Uncounted says, in a dry run, that the amount cannot be known beforehand.
	Uncounted bool `json:"uncounted,omitempty"`
}

// Jobs lists the scheduled jobs.
func (c *Client) Jobs(ctx context.Context, options ...CallOption) (Jobs, error) {
	return get[Jobs](ctx, c, "/v1/jobs", nil, options)
}

// RunJob runs a job now, for a few seconds. If More is set, call it again to do the
// rest. Running a job twice does no harm.
func (c *Client) RunJob(ctx context.Context, name string, run JobRun, options ...CallOption) (JobRan, error) {
	return call[JobRan](ctx, c, request{method: http.MethodPost, path: "/v1/jobs/" + url.PathEscape(name) + "/run", body: run}, options)
}
