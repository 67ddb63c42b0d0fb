package client

import (
	"context"
	"iter"
	"time"
)

// AuditFilter selects administrative acts. Everything that is set must hold.
type AuditFilter struct {
	Actor, Act, Target string
	From, To           time.Time // in [From, To)
}

// Audit lists administrative acts, newest first.
func (c *Client) Audit(ctx context.Context, f AuditFilter, p Page, options ...CallOption) (AuditPage, error) {
	q := query{}.text("actor", f.Actor).text("act", f.Act).text("target", f.Target).time("from", f.From).time("to", f.To)
	return get[AuditPage](ctx, c, "/v1/audit", p.query(q), options)
}

// AllAudit walks administrative acts, newest first, page by page. It ends with
// the first failure.
func (c *Client) AllAudit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEntry, error] {
	return all(ctx, func(ctx context.Context, p Page) ([]AuditEntry, string, error) {
		page, err := c.Audit(ctx, f, p)
		return page.Entries, page.Next, err
	})
}
