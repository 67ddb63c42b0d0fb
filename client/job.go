package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup"
)

// Jobs are the scheduled jobs.
type Jobs struct {
	Leader string       `json:"leader,omitempty" doc:"the node that runs them; none: no node leads at the moment"`
	Jobs   []recoup.Job `json:"jobs" doc:"the jobs"`
}

// JobRun asks for a job to be run now.
type JobRun struct {
	DryRun bool   `json:"dry_run,omitempty" doc:"only count what it would move"`
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// Jobs lists the scheduled jobs.
func (c *Client) Jobs(ctx context.Context, options ...CallOption) (Jobs, error) {
	return get[Jobs](ctx, c, "/v1/jobs", nil, options)
}

// RunJob runs a job now, for a few seconds. If More is set, call it again to do the
// rest. Running a job twice does no harm.
func (c *Client) RunJob(ctx context.Context, name string, run JobRun, options ...CallOption) (recoup.JobRan, error) {
	return call[recoup.JobRan](ctx, c, request{method: http.MethodPost, path: "/v1/jobs/" + url.PathEscape(name) + "/run", body: run}, options)
}
