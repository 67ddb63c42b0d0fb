package console

import (
	"context"
	"html/template"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// What the views of a [Section] in another package ask of a request.

// Client asks the API with the key of the visitor.
func (v *Request) Client() *client.Client { return v.client }

// Context is the context of the request, for calls of the client.
func (v *Request) Context() context.Context { return v.ctx() }

// Now is the time at which the page is made.
func (v *Request) Now() time.Time { return v.now }

// Moment shows a time as pages do: how long ago or how soon, and exactly on hover.
func (v *Request) Moment(t time.Time) template.HTML { return moment(v.now, t) }

// ListPage is the part of a list that the page shows, by the cursor in its address.
func (v *Request) ListPage() client.Page {
	return client.Page{Cursor: v.r.URL.Query().Get("cursor"), Limit: pageRows}
}

// PathValue is a part of the page's path.
func (v *Request) PathValue(name string) string { return v.r.PathValue(name) }

// PathID is the id in the page's path, which is that of something.
func (v *Request) PathID(something string) (recoup.ID, error) { return v.pathID(something) }

// Text is a field of the form that was sent.
func (v *Request) Text(field string) string { return v.text(field) }

// GoDone sends the browser to a page, which shows the [Outcome] of an act that n things
// went through.
func (v *Request) GoDone(page, outcome string, n int) { v.goDone(page, outcome, n) }
