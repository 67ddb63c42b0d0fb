package sqlite

import (
	"context"
	"strings"

	"recoup/internal/store"
)

var insertAudit = addTo("audit", auditColumns)

// audit writes the row that tells of an act.
func (t *tx) audit(entry store.AuditEntry) error { return t.exec(insertAudit, auditFields(&entry)...) }

// AppendAudit writes down acts that no verb of the store does.
func (s *Store) AppendAudit(ctx context.Context, entries []store.AuditEntry) error {
	for _, e := range entries {
		if err := e.Details.Check(); err != nil {
			return err
		}
	}
	return s.writer.do(ctx, func(tx *tx) error { return each(tx, insertAudit, entries, auditFields) })
}

// Audit lists acts, newest first.
func (s *Store) Audit(ctx context.Context, f store.AuditFilter, after store.AuditCursor, limit int) ([]store.AuditEntry, store.AuditCursor, error) {
	page := store.Page{Limit: limit}
	text, args := listAudit(f, after, page.Size())
	list, err := query(ctx, s, func(e *store.AuditEntry) []any { return append([]any{&e.Seq}, auditFields(e)...) }, text, args...)
	if err != nil || len(list) < page.Size() {
		return list, store.AuditCursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.AuditCursor{At: last.At, Seq: last.Seq}, nil
}

// listAudit reads from the index that has the order for the most telling of the
// filter's conditions.
func listAudit(f store.AuditFilter, after store.AuditCursor, size int) (string, []any) {
	index, where, args := "audit_at_idx", []string{"true"}, []any{}
	require := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	for _, c := range []struct{ column, value string }{{"act", f.Act}, {"actor", f.Actor}, {"target", f.Target}} {
		if c.value != "" {
			index = "audit_" + c.column + "_idx"
			require(c.column+" = ?", c.value)
		}
	}
	if !f.From.IsZero() {
		require("at >= ?", micros(f.From))
	}
	if !f.To.IsZero() {
		require("at < ?", micros(f.To))
	}
	if !after.IsZero() {
		require("(at, seq) < (?, ?)", micros(after.At), after.Seq)
	}
	return "select seq, " + auditColumns + " from audit indexed by " + index + " where " + strings.Join(where, " and ") +
		" order by at desc, seq desc limit 0 + ?", append(args, size)
}
