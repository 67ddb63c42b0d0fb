package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

var audits = table(store.Audits, "audit")

// AppendAudit writes down acts that no verb of the store does.
func (v Ops) AppendAudit(ctx context.Context, entries ...recoup.AuditEntry) error {
	for _, e := range entries {
		if err := e.Details.Check(); err != nil {
			return err
		}
	}
	return v.db.Act(ctx, "write the audit", time.Time{}, func(tx Tx) error { return audits.add(tx, entries...) })
}

// Audit lists acts, newest first.
func (v Ops) Audit(ctx context.Context, f recoup.AuditFilter, after store.AuditCursor, limit int) ([]recoup.AuditEntry, store.AuditCursor, error) {
	size := store.Page{Limit: limit}.Size()
	list, err := audits.list(ctx, v, auditQuery(f, after, size))
	return list, next(list, size, func(e *recoup.AuditEntry) store.AuditCursor { return store.AuditCursor{At: e.At, Seq: e.Seq} }), err
}

// auditQuery reads from the index that has the order for the most selective of the
// filter's conditions.
func auditQuery(f recoup.AuditFilter, after store.AuditCursor, size int) *Query {
	index := "at"
	for _, c := range []struct{ column, value string }{{"act", f.Act}, {"actor", f.Actor}, {"target", f.Target}} {
		if c.value != "" {
			index = c.column
		}
	}
	q := audits.ask("read the audit", "/*by audit_"+index+"_idx*/ where true")
	q.equal("act", f.Act)
	q.equal("actor", f.Actor)
	q.equal("target", f.Target)
	q.during("at", f.From, f.To)
	if !after.IsZero() {
		q.add(" and (at, seq) < (" + q.arg(after.At) + ", " + q.arg(after.Seq) + ")")
	}
	return q.add(" order by at desc, seq desc limit " + q.arg(size))
}
