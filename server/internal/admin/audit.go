package admin

import (
	"context"
	"iter"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/internal/query"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Audit reads the audit of administrative acts.
type Audit struct{ c *client.Client }

// List lists administrative acts, newest first.
func (s Audit) List(ctx context.Context, f wire.AuditFilter, p client.Page, options ...client.CallOption) (wire.AuditPage, error) {
	q := query.Values{}.Text("actor", f.Actor).Text("act", f.Act).Text("target", f.Target).Time("from", f.From).Time("to", f.To)
	return Get[wire.AuditPage](ctx, s.c, "/v1/audit", pageQuery(p, q), options)
}

// All walks administrative acts, newest first, page by page. It ends with
// the first failure.
func (s Audit) All(ctx context.Context, f wire.AuditFilter) iter.Seq2[wire.AuditEntry, error] {
	return client.Walk(ctx, func(ctx context.Context, p client.Page) ([]wire.AuditEntry, string, error) {
		page, err := s.List(ctx, f, p)
		return page.Entries, page.Next, err
	})
}
