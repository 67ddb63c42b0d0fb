package postgres

import (
	"context"
	"time"

	"recoup/internal/store"
)

// audit queues the row that tells of an act.
func audit(t *tx, entry store.AuditEntry) {
	insert(t, "recoup.audit", auditColumns, []store.AuditEntry{entry})
}

// AppendAudit writes down acts that no verb of the store does.
func (s *Store) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	for _, e := range entries {
		if err := e.Details.Check(); err != nil {
			return err
		}
	}
	return s.transact(ctx, "write the audit", time.Time{}, func(t *tx) error {
		addRows(t, "recoup.audit", auditColumns, entries, "")
		return nil
	})
}

var auditRows = append([]column[store.AuditEntry]{bigint("seq", func(a *store.AuditEntry) *int64 { return &a.Seq })}, auditColumns...)

// Audit lists acts, newest first.
func (s *Store) Audit(ctx context.Context, f store.AuditFilter, after store.AuditCursor, limit int) ([]store.AuditEntry, store.AuditCursor, error) {
	page := store.Page{Limit: limit}
	q := auditQuery(f, after, page.Size())
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("read the audit", rows, err, decode(auditRows))
	if err != nil || len(list) < page.Size() {
		return list, store.AuditCursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.AuditCursor{At: last.At, Seq: last.Seq}, nil
}

func auditQuery(f store.AuditFilter, after store.AuditCursor, size int) *query {
	q := &query{}
	q.add("select " + names(auditRows, "") + " from recoup.audit where true")
	q.equal("actor", f.Actor)
	q.equal("act", f.Act)
	q.equal("target", f.Target)
	if !f.From.IsZero() {
		q.add(" and at >= " + q.arg(f.From))
	}
	if !f.To.IsZero() {
		q.add(" and at < " + q.arg(f.To))
	}
	if !after.IsZero() {
		q.add(" and (at, seq) < (" + q.arg(after.At) + ", " + q.arg(after.Seq) + ")")
	}
	q.add(" order by at desc, seq desc limit " + q.arg(size))
	return q
}
