package client

import (
	"context"
	"iter"

	"github.com/recoup-dev/recoup"
)

// Audit lists administrative acts, newest first.
func (c *Client) Audit(ctx context.Context, f recoup.AuditFilter, p Page, options ...CallOption) (AuditPage, error) {
	q := query{}.text("actor", f.Actor).text("act", f.Act).text("target", f.Target).time("from", f.From).time("to", f.To)
	return get[AuditPage](ctx, c, "/v1/audit", p.query(q), options)
}

// AllAudit walks administrative acts, newest first, page by page. It ends with
// the first failure.
func (c *Client) AllAudit(ctx context.Context, f recoup.AuditFilter) iter.Seq2[recoup.AuditEntry, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]recoup.AuditEntry, string, error) {
		page, err := c.Audit(ctx, f, p)
		return page.Entries, page.Next, err
	})
}
