package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/recoup-dev/recoup"
)

// ErrorGroupFilter selects groups of errors. All fields that are set must match.
type ErrorGroupFilter struct {
	Table string            `query:"table" doc:"only this error table"`
	Hub   string            `query:"hub" doc:"only tables of this hub"`
	Code  string            `query:"code" doc:"only this code"`
	State recoup.State      `query:"state" enum:"ACTIVE,RETRY_PENDING,PARKED,ESCALATED,RESOLVED" doc:"only groups with an error in this state"`
	Sort  recoup.GroupOrder `query:"sort" enum:"open,seen" doc:"open: those first of which most is open (the default); seen: those first that were seen last"`
}

// ErrorGroupPage is a page of groups of errors.
type ErrorGroupPage struct {
	Groups []recoup.ErrorGroup `json:"groups" doc:"this page of the list"`
	Next   string              `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// ErrorGroups lists groups of errors. Their counts are some seconds old at most.
func (c *Client) ErrorGroups(ctx context.Context, f ErrorGroupFilter, p Page, options ...CallOption) (ErrorGroupPage, error) {
	q := query{}.text("table", f.Table).text("hub", f.Hub).text("code", f.Code).text("state", string(f.State)).text("sort", string(f.Sort))
	return get[ErrorGroupPage](ctx, c, "/v1/error-groups", p.query(q), options)
}

// AllErrorGroups walks all groups that the filter selects, page by page. It ends with the
// first failure.
func (c *Client) AllErrorGroups(ctx context.Context, f ErrorGroupFilter) iter.Seq2[recoup.ErrorGroup, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.ErrorGroup, string, error) {
		page, err := c.ErrorGroups(ctx, f, p)
		return page.Groups, page.Next, err
	})
}

// ErrorGroup returns a group of errors with its trend.
func (c *Client) ErrorGroup(ctx context.Context, id recoup.ID, options ...CallOption) (recoup.ErrorGroup, error) {
	return get[recoup.ErrorGroup](ctx, c, "/v1/error-groups/"+id.String(), nil, options)
}

// NoteErrorGroup sets who takes care of a group of errors, and what is known of it.
func (c *Client) NoteErrorGroup(ctx context.Context, id recoup.ID, n GroupNote, options ...CallOption) (recoup.ErrorGroup, error) {
	return call[recoup.ErrorGroup](ctx, c, request{method: http.MethodPost, path: "/v1/error-groups/" + id.String() + "/note", body: n, safety: once}, options)
}
