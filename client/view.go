package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// ViewPage is a page of views, newest first.
type ViewPage struct {
	Views []recoup.View `json:"views" doc:"this page of the list"`
	Next  string        `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// NewView is a view as it is to be.
type NewView struct {
	Name   string   `json:"name" maxLength:"100" doc:"what people call it; of one owner or hub no two have the same"`
	Tokens []string `json:"tokens,omitempty" maxItems:"20" doc:"the filter: state:, table:, hub:, code:, entity:, owner:, tier:, parked:, blocking:, older:, newer:, group: and text:, each once at most"`
	Hub    string   `json:"hub,omitempty" maxLength:"200" doc:"whose people share it; none: it is yours alone"`
}

// Views lists the views of whoever calls and those of their hubs, newest first.
func (c *Client) Views(ctx context.Context, p Page, options ...CallOption) (ViewPage, error) {
	return get[ViewPage](ctx, c, "/v1/views", p.query(query{}), options)
}

// AllViews walks the views, page by page. It ends with the first failure.
func (c *Client) AllViews(ctx context.Context) iter.Seq2[recoup.View, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.View, string, error) {
		page, err := c.Views(ctx, p)
		return page.Views, page.Next, err
	})
}

// AddView saves a view. The call is not retried where it may have taken effect: the name
// would be taken.
func (c *Client) AddView(ctx context.Context, v NewView, options ...CallOption) (recoup.View, error) {
	return call[recoup.View](ctx, c, request{method: http.MethodPost, path: "/v1/views", body: v, safety: once}, options)
}

// ChangeView saves a view under another name, with another filter, or for others.
func (c *Client) ChangeView(ctx context.Context, id recoup.ID, v NewView, options ...CallOption) (recoup.View, error) {
	return call[recoup.View](ctx, c, request{method: http.MethodPut, path: "/v1/views/" + id.String(), body: v}, options)
}

// DeleteView deletes a view and returns it as it was.
func (c *Client) DeleteView(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.View, error) {
	return call[recoup.View](ctx, c, request{method: http.MethodDelete, path: "/v1/views/" + id.String(), safety: once}, options)
}
