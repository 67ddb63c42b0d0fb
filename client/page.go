package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
)

// Page says which part of a list is wanted. The zero Page is its beginning.
type Page struct {
	Cursor string // the Next of the page before
	Limit  int    // rows; default 100, at most 1000
}

func (p Page) query(q query) url.Values {
	return q.text("cursor", p.Cursor).number("limit", p.Limit).values()
}

// query collects parameters. What is not set is left out.
type query url.Values

func (q query) values() url.Values { return url.Values(q) }

func (q query) text(name, value string) query {
	if value != "" {
		q[name] = []string{value}
	}
	return q
}

func (q query) id(name string, id recoup.ID) query {
	if id.IsZero() {
		return q
	}
	return q.text(name, id.String())
}

func (q query) number(name string, n int) query {
	if n == 0 {
		return q
	}
	return q.text(name, strconv.Itoa(n))
}

func (q query) flag(name string, yes bool) query {
	if !yes {
		return q
	}
	return q.text(name, "true")
}

// either is a flag that may be asked for, excluded, or left open.
func (q query) either(name string, is *bool) query {
	if is == nil {
		return q
	}
	return q.text(name, strconv.FormatBool(*is))
}

func (q query) time(name string, t time.Time) query {
	if t.IsZero() {
		return q
	}
	return q.text(name, t.UTC().Format(time.RFC3339Nano))
}

// maxPage is the largest page that a server gives.
const maxPage = 1000

// all walks a list page by page. It ends with the first error.
func all[T any](ctx context.Context, list func(context.Context, Page) ([]T, string, error)) iter.Seq2[T, error] {
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

func (f Filter) query() query {
	return query{}.text("table", f.Table).text("hub", f.Hub).text("state", string(f.State)).
		text("entity_id", f.EntityID).text("code", f.Code).text("assigned_to", f.AssignedTo).id("group", f.Group).text("q", f.Text).
		number("tier", f.Tier).either("blocking", f.Blocking).either("parked", f.Parked).
		time("before", f.Before).time("after", f.After)
}

// errorPages adapts a list of errors to [all].
func errorPages(ctx context.Context, list func(context.Context, Page) (ErrorPage, error)) iter.Seq2[recoup.Error, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.Error, string, error) {
		page, err := list(ctx, p)
		return page.Errors, page.Next, err
	})
}
