package gatezero

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Redactor has rows of Gate Zero that were there before Recoup, and whose text has to be
// redacted once (decision 0090). Only PostgreSQL takes rows over.
type Redactor interface {
	UnreadRows(ctx context.Context, kind TakenOverKind, limit int) ([]UnreadRow, error)
	RedactRows(ctx context.Context, kind TakenOverKind, rows []UnreadRow) (int, error)
}

// TakenOverKind is what a row that was taken over is.
type TakenOverKind string

// The kinds of rows that are taken over.
const (
	TakenOverIntake   TakenOverKind = "intake"
	TakenOverRecovery TakenOverKind = "recovery"
)

// UnreadRow is a row that was taken over: its columns that can hold text, by their names.
type UnreadRow struct {
	ID    recoup.ID
	Texts map[string]any // decoded JSON
}

// TakesOver reports whether the database may have rows that were there before.
func (s *Store) TakesOver() bool { return s.db.Dialect() == sqldb.PostgreSQL }

// UnreadRows returns up to limit rows that nobody has looked at yet.
func (s *Store) UnreadRows(ctx context.Context, kind TakenOverKind, limit int) ([]UnreadRow, error) {
	type row struct {
		id    recoup.ID
		texts string
	}
	found, err := sqldb.Rows(ctx, s.db, sqldb.NewQuery("read rows taken over", "select id, texts::text from cl.unread($1, $2)", string(kind), limit),
		sqldb.Fields(func(r *row) []any { return []any{&r.id, &r.texts} })...)
	list := make([]UnreadRow, len(found))
	for i := range found {
		list[i].ID = found[i].id
		if err := json.Unmarshal([]byte(found[i].texts), &list[i].Texts); err != nil {
			return nil, fmt.Errorf("read rows taken over: %w", err)
		}
	}
	return list, err
}

// RedactRows replaces the texts of rows by those given, and marks all of them as
// looked at, in one transaction. It returns how many it changed; rows that another
// node has looked at meanwhile are left alone.
func (s *Store) RedactRows(ctx context.Context, kind TakenOverKind, rows []UnreadRow) (int, error) {
	ids, changes := make([]recoup.ID, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		change, err := json.Marshal(r.Texts)
		if err != nil {
			return 0, fmt.Errorf("redact rows taken over: %w", err)
		}
		ids[i], changes[i] = r.ID, string(change)
	}
	return sqldb.ActAt(ctx, s.db, "redact rows taken over", time.Time{}, func(tx sqldb.Tx) (int, error) {
		var changed []int
		err := tx.Query(sqldb.NewQuery("", "select cl.redact_taken_over($1, $2, $3::text[]::jsonb[])", string(kind), ids, changes),
			sqldb.Into(&changed, sqldb.Fields(func(n *int) []any { return []any{n} })))
		return sqldb.One(changed, err, "rows taken over")
	})
}
