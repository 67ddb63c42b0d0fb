package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var audits = sqldb.NewRepository(store.Audits, "audit")

// AppendAudit writes down acts that no operation of the store writes.
func (v Ops) AppendAudit(ctx context.Context, entries ...wire.AuditEntry) error {
	for _, e := range entries {
		if err := e.Details.Check(); err != nil {
			return err
		}
	}
	return v.db.Act(ctx, "write the audit", time.Time{}, func(tx Tx) error { return audits.Add(tx, entries...) })
}

// Audit lists acts, newest first.
func (v Ops) Audit(ctx context.Context, f wire.AuditFilter, after store.AuditCursor, limit int) ([]wire.AuditEntry, store.AuditCursor, error) {
	size := sqldb.Page{Limit: limit}.Size()
	list, err := audits.List(ctx, v.db, auditQuery(f, after, size))
	return list, sqldb.Next(list, size, func(e *wire.AuditEntry) store.AuditCursor { return store.AuditCursor{At: e.At, Seq: e.Seq} }), err
}

// auditQuery reads from the index that has the order for the most selective of the
// filter's conditions.
func auditQuery(f wire.AuditFilter, after store.AuditCursor, size int) *sqldb.Query {
	index := "at"
	for _, c := range []struct{ column, value string }{{"act", f.Act}, {"actor", f.Actor}, {"target", f.Target}} {
		if c.value != "" {
			index = c.column
		}
	}
	q := audits.Select("read the audit", "/*by audit_"+index+"_idx*/ where true")
	q.Equal("act", f.Act)
	q.Equal("actor", f.Actor)
	q.Equal("target", f.Target)
	q.During("at", f.From, f.To)
	if !after.IsZero() {
		q.Add(" and (at, seq) < (" + q.Arg(after.At) + ", " + q.Arg(after.Seq) + ")")
	}
	return q.Add(" order by at desc, seq desc limit " + q.Arg(size))
}
