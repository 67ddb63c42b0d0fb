package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// UnreadRows implements [store.TakenOverRedactor].
func (s *Store) UnreadRows(ctx context.Context, kind store.TakenOverKind, limit int) ([]store.UnreadRow, error) {
	rows, err := s.pool.Query(ctx, "select id, texts::text from cl.unread($1, $2)", string(kind), limit)
	return collectRows("read rows taken over", rows, err, func(row pgx.CollectableRow) (r store.UnreadRow, err error) {
		var texts []byte
		if err := row.Scan(&r.ID, &texts); err != nil {
			return r, err
		}
		return r, json.Unmarshal(texts, &r.Texts)
	})
}

// RedactRows implements [store.TakenOverRedactor].
func (s *Store) RedactRows(ctx context.Context, kind store.TakenOverKind, rows []store.UnreadRow) (changed int, err error) {
	ids, changes := make([]recoup.ID, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		change, err := json.Marshal(r.Texts)
		if err != nil {
			return 0, fmt.Errorf("redact rows taken over: %w", err)
		}
		ids[i], changes[i] = r.ID, string(change)
	}
	err = s.pool.QueryRow(ctx, "select cl.redact_taken_over($1, $2, $3::text[]::jsonb[])", string(kind), ids, changes).Scan(&changed)
	return changed, failure("redact rows taken over", err)
}
