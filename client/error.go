package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// Report records a failure: what cannot go on, and why. The answer says what happens
// to it next.
func (c *Client) Report(ctx context.Context, r recoup.Report, options ...CallOption) (recoup.Reported, error) {
	return call[recoup.Reported](ctx, c, request{method: http.MethodPost, path: "/v1/errors", body: c.from(r), safety: keyed}, options)
}

// ReportBatch records many failures, at most 1000. Each succeeds or fails on its own;
// answers are in the order of the reports. See [Item.Get].
func (c *Client) ReportBatch(ctx context.Context, reports []recoup.Report, options ...CallOption) ([]Item[recoup.Reported], error) {
	batch := ReportBatch{Reports: make([]recoup.Report, len(reports))}
	for i, r := range reports {
		batch.Reports[i] = c.from(r)
	}
	answer, err := call[ReportedBatch](ctx, c, request{method: http.MethodPost, path: "/v1/errors/batch", body: batch, safety: keyed}, options)
	if err != nil {
		return nil, err
	}
	return checkCount(answer.Items, len(reports))
}

// from fills in the service and region of a report that names none.
func (c *Client) from(r recoup.Report) recoup.Report {
	r.Service, r.Region = cmp.Or(r.Service, c.o.Service), cmp.Or(r.Region, c.o.Region)
	return r
}

// Error returns an error, open or archived.
func (c *Client) Error(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Error, error) {
	return get[recoup.Error](ctx, c, "/v1/errors/"+id.String(), nil, options)
}

// Errors lists open errors, newest first.
func (c *Client) Errors(ctx context.Context, f Filter, p Page, options ...CallOption) (ErrorPage, error) {
	return get[ErrorPage](ctx, c, "/v1/errors", p.query(f.query()), options)
}

// AllErrors walks all open errors that the filter selects, newest first, page by
// page. It ends with the first failure.
func (c *Client) AllErrors(ctx context.Context, f Filter) iter.Seq2[recoup.Error, error] {
	return errorPages(ctx, func(ctx context.Context, p Page) (ErrorPage, error) { return c.Errors(ctx, f, p) })
}

// ParkedFilter selects from the park queue.
type ParkedFilter struct {
	Table string `query:"table" doc:"only this error table"`
	Hub   string `query:"hub" doc:"only tables of this hub"`
}

// Parked lists the errors that wait for a person, longest parked first.
func (c *Client) Parked(ctx context.Context, f ParkedFilter, p Page, options ...CallOption) (ErrorPage, error) {
	return get[ErrorPage](ctx, c, "/v1/errors/parked", p.query(query{}.text("table", f.Table).text("hub", f.Hub)), options)
}

// AllParked walks the park queue, longest parked first.
func (c *Client) AllParked(ctx context.Context, f ParkedFilter) iter.Seq2[recoup.Error, error] {
	return errorPages(ctx, func(ctx context.Context, p Page) (ErrorPage, error) { return c.Parked(ctx, f, p) })
}

// Archived lists the archive of a table, last archived first.
func (c *Client) Archived(ctx context.Context, table string, p Page, options ...CallOption) (ErrorPage, error) {
	return get[ErrorPage](ctx, c, "/v1/errors/archived", p.query(query{}.text("table", table)), options)
}

// AllArchived walks the archive of a table, last archived first.
func (c *Client) AllArchived(ctx context.Context, table string) iter.Seq2[recoup.Error, error] {
	return errorPages(ctx, func(ctx context.Context, p Page) (ErrorPage, error) { return c.Archived(ctx, table, p) })
}

// History returns what happened to an error, oldest first.
func (c *Client) History(ctx context.Context, id recoup.ID, options ...CallOption) ([]recoup.Transition, error) {
	answer, err := get[History](ctx, c, "/v1/errors/"+id.String()+"/history", nil, options)
	return answer.Transitions, err
}

// Explain says which rules decided, what happens next by itself and when, and
// what a person can do.
func (c *Client) Explain(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.Explanation, error) {
	return get[recoup.Explanation](ctx, c, "/v1/errors/"+id.String()+"/explain", nil, options)
}

// Counts returns how many errors each table has in each state.
func (c *Client) Counts(ctx context.Context, options ...CallOption) ([]recoup.StateCount, error) {
	answer, err := get[Counts](ctx, c, "/v1/errors/counts", nil, options)
	return answer.Counts, err
}
