package admin

import (
	"context"
	"net/http"
	"net/url"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Jobs reads and runs the scheduled jobs.
type Jobs struct{ c *client.Client }

// List lists the scheduled jobs.
func (s Jobs) List(ctx context.Context, options ...client.CallOption) (wire.Jobs, error) {
	return Get[wire.Jobs](ctx, s.c, "/v1/jobs", nil, options)
}

// Run runs a job now, for a few seconds. If More is set, call it again to do the
// rest. Running a job twice does no harm.
func (s Jobs) Run(ctx context.Context, name string, run wire.JobRunRequest, options ...client.CallOption) (wire.JobRun, error) {
	return Call[wire.JobRun](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/jobs/" + url.PathEscape(name) + "/run", Body: run, Safety: client.Idempotent}, options)
}
