package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// List lists groups of errors. Their counts are some seconds old at most.
func (s ErrorGroupService) List(ctx context.Context, f recoup.ErrorGroupFilter, p Page, options ...CallOption) (recoup.ErrorGroupPage, error) {
	q := query.Values{}.Text("table", f.Table).Text("hub", f.Hub).Text("code", f.Code).Text("state", string(f.State)).Text("sort", string(f.Sort))
	return get[recoup.ErrorGroupPage](ctx, s.c, "/v1/error-groups", pageQuery(p, q), options)
}

// All walks all groups that the filter selects, page by page. It ends with the
// first failure.
func (s ErrorGroupService) All(ctx context.Context, f recoup.ErrorGroupFilter) iter.Seq2[recoup.ErrorGroup, error] {
	return Walk(ctx, func(ctx context.Context, p Page) ([]recoup.ErrorGroup, string, error) {
		page, err := s.List(ctx, f, p)
		return page.Groups, page.Next, err
	})
}

// Get returns a group of errors with its trend.
func (s ErrorGroupService) Get(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.ErrorGroup, error) {
	return get[recoup.ErrorGroup](ctx, s.c, "/v1/error-groups/"+id.String(), nil, options)
}

// Note sets who takes care of a group of errors, and what is known of it.
func (s ErrorGroupService) Note(ctx context.Context, id recoup.ID, n recoup.GroupNote, options ...CallOption) (recoup.ErrorGroup, error) {
	return call[recoup.ErrorGroup](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/error-groups/" + id.String() + "/note", Body: n, Safety: NotIdempotent}, options)
}
