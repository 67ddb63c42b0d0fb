package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// Report records a failure: what cannot go on, and why. The answer says what happens
// to it next.
func (c *Client) Report(ctx context.Context, r recoup.Report, options ...CallOption) (recoup.Reported, error) {
	return call[recoup.Reported](ctx, c, Request{Method: http.MethodPost, Path: "/v1/errors", Body: c.from(r), Safety: IdempotentByKey}, options)
}

// ReportBatch records many failures, at most 1000. Each succeeds or fails on its own;
// answers are in the order of the reports. See [Item.Get].
func (c *Client) ReportBatch(ctx context.Context, reports []recoup.Report, options ...CallOption) ([]Item[recoup.Reported], error) {
	batch := recoup.ReportBatch{Reports: make([]recoup.Report, len(reports))}
	for i, r := range reports {
		batch.Reports[i] = c.from(r)
	}
	answer, err := call[recoup.ReportedBatch](ctx, c, Request{Method: http.MethodPost, Path: "/v1/errors/batch", Body: batch, Safety: IdempotentByKey}, options)
	if err != nil {
		return nil, err
	}
	return itemsOf(answer.Items, len(reports))
}

// from fills in the service and region of a report that names none.
func (c *Client) from(r recoup.Report) recoup.Report {
	r.Service, r.Region = cmp.Or(r.Service, c.o.Service), cmp.Or(r.Region, c.o.Region)
	return r
}

// Get returns an error, open or archived.
func (s ErrorService) Get(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Error, error) {
	return get[recoup.Error](ctx, s.c, "/v1/errors/"+id.String(), nil, options)
}

// List lists open errors, newest first.
func (s ErrorService) List(ctx context.Context, f recoup.ErrorFilter, p Page, options ...CallOption) (recoup.ErrorPage, error) {
	return get[recoup.ErrorPage](ctx, s.c, "/v1/errors", pageQuery(p, errorQuery(f)), options)
}

// All walks all open errors that the filter selects, newest first, page by
// page. It ends with the first failure.
func (s ErrorService) All(ctx context.Context, f recoup.ErrorFilter) iter.Seq2[recoup.Error, error] {
	return errorPages(ctx, func(ctx context.Context, p Page) (recoup.ErrorPage, error) { return s.List(ctx, f, p) })
}

// Parked lists the errors that wait for a person, longest parked first.
func (s ErrorService) Parked(ctx context.Context, f recoup.ParkedFilter, p Page, options ...CallOption) (recoup.ErrorPage, error) {
	return get[recoup.ErrorPage](ctx, s.c, "/v1/errors/parked", pageQuery(p, query.Values{}.Text("table", f.Table).Text("hub", f.Hub)), options)
}

// AllParked walks the park queue, longest parked first.
func (s ErrorService) AllParked(ctx context.Context, f recoup.ParkedFilter) iter.Seq2[recoup.Error, error] {
	return errorPages(ctx, func(ctx context.Context, p Page) (recoup.ErrorPage, error) { return s.Parked(ctx, f, p) })
}

// Archived lists the archive of a table, last archived first.
func (s ErrorService) Archived(ctx context.Context, table string, p Page, options ...CallOption) (recoup.ErrorPage, error) {
	return get[recoup.ErrorPage](ctx, s.c, "/v1/errors/archived", pageQuery(p, query.Values{}.Text("table", table)), options)
}

// AllArchived walks the archive of a table, last archived first.
func (s ErrorService) AllArchived(ctx context.Context, table string) iter.Seq2[recoup.Error, error] {
	return errorPages(ctx, func(ctx context.Context, p Page) (recoup.ErrorPage, error) { return s.Archived(ctx, table, p) })
}

// History returns what happened to an error, oldest first.
func (s ErrorService) History(ctx context.Context, id recoup.ID, options ...CallOption) ([]recoup.Transition, error) {
	answer, err := get[recoup.ErrorHistory](ctx, s.c, "/v1/errors/"+id.String()+"/history", nil, options)
	return answer.Transitions, err
}

// Explain says which rules decided, what happens next by itself and when, and
// what a person can do.
func (s ErrorService) Explain(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Explanation, error) {
	return get[recoup.Explanation](ctx, s.c, "/v1/errors/"+id.String()+"/explain", nil, options)
}

// Counts returns how many errors each table has in each state.
func (s ErrorService) Counts(ctx context.Context, options ...CallOption) ([]recoup.StateCount, error) {
	answer, err := get[recoup.StateCounts](ctx, s.c, "/v1/errors/counts", nil, options)
	return answer.Counts, err
}

// Source returns what an error keeps of its row of an adopted table.
func (s ErrorService) Source(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.ErrorSource, error) {
	return get[recoup.ErrorSource](ctx, s.c, "/v1/errors/"+id.String()+"/source", nil, options)
}
