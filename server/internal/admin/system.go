package admin

import (
	"context"
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// System reads the state of the installation.
type System struct{ c *client.Client }

// Doctor finds what is wrong with the installation. It needs a key with the role admin.
func (s System) Doctor(ctx context.Context, options ...client.CallOption) (wire.Diagnosis, error) {
	return Get[wire.Diagnosis](ctx, s.c, "/v1/doctor", nil, options)
}

// Forecast says of every queue when it will be empty, or that it will not, and of every
// park queue which deadlines are missed.
func (s System) Forecast(ctx context.Context, options ...client.CallOption) (wire.Forecast, error) {
	return Get[wire.Forecast](ctx, s.c, "/v1/forecast", nil, options)
}

// FindIDs returns the things of a kind whose id begins or ends with a part of six
// hexadecimal digits or more.
func (s System) FindIDs(ctx context.Context, kind recoup.IDKind, part string, options ...client.CallOption) (wire.FoundIDs, error) {
	return Get[wire.FoundIDs](ctx, s.c, "/v1/ids/"+url.PathEscape(part), query.Values{}.Text("kind", string(kind)).URL(), options)
}

// EntityUnknown reports whether an entity is open because no report and no promotion has ever
// named it. It may be misspelt.
func (s System) EntityUnknown(ctx context.Context, entity string, options ...client.CallOption) (bool, error) {
	g, err := Get[recoup.PromotionStatus](ctx, s.c, "/v1/promotion/"+url.PathEscape(entity), url.Values{"unknown": {"true"}}, options)
	return g.Unknown, err
}

// Series counts what happened to errors in each of the last hours. The present hour is some
// seconds old at most.
func (s System) Series(ctx context.Context, f wire.SeriesFilter, options ...client.CallOption) (wire.Series, error) {
	q := query.Values{}.Text("table", f.Table).Text("hub", f.Hub).Text("code", f.Code).Number("hours", f.Hours)
	return Get[wire.Series](ctx, s.c, "/v1/series", q.URL(), options)
}

// Tables lists the error tables of the policy, and what has their names in the database.
func (s System) Tables(ctx context.Context, options ...client.CallOption) ([]wire.ErrorTable, error) {
	answer, err := Get[wire.Tables](ctx, s.c, "/v1/tables", nil, options)
	return answer.Tables, err
}

// Workers says of every error table, and of every lane of staged work that is in use,
// how much waits there for a worker, and how many workers claim.
func (s System) Workers(ctx context.Context, options ...client.CallOption) ([]wire.WorkerQueue, error) {
	answer, err := Get[wire.Workers](ctx, s.c, "/v1/workers", nil, options)
	return answer.Queues, err
}
