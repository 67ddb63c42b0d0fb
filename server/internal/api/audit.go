package api

import (
	"cmp"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

type auditIn struct {
	recoup.AuditFilter
	page
}

func (a *API) audit(c *call, in *auditIn) (client.AuditPage, error) {
	after, err := auditCursor(in.Cursor)
	if err != nil {
		return client.AuditPage{}, err
	}
	entries, cursor, err := a.Store.Audit(c.r.Context(), in.AuditFilter, after, cmp.Or(in.Limit, 100))
	return client.AuditPage{Entries: listed(entries), Next: nextAudit(cursor)}, err
}
