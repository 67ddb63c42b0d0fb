package admin

import (
	"context"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Views handles saved filters of the list of errors.
type Views struct{ c *client.Client }

// List lists the views of the caller and those of the hubs of the caller, newest first.
func (s Views) List(ctx context.Context, p client.Page, options ...client.CallOption) (wire.ViewPage, error) {
	return Get[wire.ViewPage](ctx, s.c, "/v1/views", pageQuery(p, query.Values{}), options)
}

// All walks the views, page by page. It ends with the first failure.
func (s Views) All(ctx context.Context) iter.Seq2[wire.View, error] {
	return client.Walk(ctx, func(ctx context.Context, p client.Page) ([]wire.View, string, error) {
		page, err := s.List(ctx, p)
		return page.Views, page.Next, err
	})
}

// Add saves a view. The call is not retried where it may have taken effect: the name
// would be taken.
func (s Views) Add(ctx context.Context, v wire.NewView, options ...client.CallOption) (wire.View, error) {
	return Call[wire.View](ctx, s.c, client.Request{Method: http.MethodPost, Path: "/v1/views", Body: v, Safety: client.NotIdempotent}, options)
}

// Change saves a view under another name, with another filter, or for others.
func (s Views) Change(ctx context.Context, id recoup.ID, v wire.NewView, options ...client.CallOption) (wire.View, error) {
	return Call[wire.View](ctx, s.c, client.Request{Method: http.MethodPut, Path: "/v1/views/" + id.String(), Body: v}, options)
}

// Delete deletes a view and returns it as it was.
func (s Views) Delete(ctx context.Context, id recoup.ID, options ...client.CallOption) (wire.View, error) {
	return Call[wire.View](ctx, s.c, client.Request{Method: http.MethodDelete, Path: "/v1/views/" + id.String(), Safety: client.NotIdempotent}, options)
}
