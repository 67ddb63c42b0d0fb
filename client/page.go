package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/query"
)

// Page says which part of a list is wanted. The zero Page is its beginning.
type Page struct {
	Cursor string // the Next of the page before
	Limit  int    // rows; default 100, at most 1000
}

func pageQuery(p Page, v query.Values) url.Values { return v.Page(p.Cursor, p.Limit).URL() }

// maxPage is the largest page that a server gives.
const maxPage = 1000

// Walk walks a list page by page, for lists that [Client.Do] reads. The function reads one page
// and returns its rows and the cursor of the next; an empty cursor ends the list. Walk ends with
// the first error.
func Walk[T any](ctx context.Context, list func(context.Context, Page) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := Page{Limit: maxPage}
		for {
			rows, next, err := list(ctx, page)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			page.Cursor = next
		}
	}
}

func errorQuery(f recoup.ErrorFilter) query.Values {
	return query.Values{}.Text("table", f.Table).Text("hub", f.Hub).Text("state", string(f.State)).
		Text("entity_id", f.EntityID).Text("code", f.Code).Text("assigned_to", f.AssignedTo).ID("group", f.Group).Text("q", f.Text).
		Number("tier", f.Tier).Either("blocking", f.Blocking).Either("parked", f.Parked).
		Time("before", f.Before).Time("after", f.After)
}

func dayQuery(d recoup.DayFilter) query.Values {
	return query.Values{}.Time("from", d.From).Time("to", d.To).Text("service", d.Service).Text("code", d.Code)
}

// errorPages adapts a list of errors to [Walk].
func errorPages(ctx context.Context, list func(context.Context, Page) (recoup.ErrorPage, error)) iter.Seq2[recoup.Error, error] {
	return Walk(ctx, func(ctx context.Context, p Page) ([]recoup.Error, string, error) {
		page, err := list(ctx, p)
		return page.Errors, page.Next, err
	})
}
