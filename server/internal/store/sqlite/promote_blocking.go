package sqlite

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// selectBlockers reads what a gate shows of an error.
const selectBlockers = `select error_id, table_name, code, state, assigned_to, escalated_to, created_at, next_retry_at, expires_at
	from error indexed by error_entity_idx where entity_id = ? and blocking order by created_at, error_id limit 0 + ?`

func blockerFields(b *store.Blocker) []any {
	return []any{id{&b.ID}, text[string]{&b.Table}, text[recoup.Code]{&b.Code}, text[recoup.State]{&b.State}, text[string]{&b.AssignedTo},
		text[string]{&b.EscalatedTo}, stamp{&b.CreatedAt}, stamp{&b.NextRetryAt}, stamp{&b.ExpiresAt}}
}

// Blocking returns for each entity the errors that block it, oldest first.
func (s *Store) Blocking(ctx context.Context, entities []string, limit int) ([][]store.Blocker, error) {
	blockers := make([][]store.Blocker, len(entities))
	for i, entity := range entities {
		var err error
		if blockers[i], err = queryBy(ctx, s.vital, blockerFields, selectBlockers, entity, sqldb.Page{Limit: limit}.Size()); err != nil {
			return nil, err
		}
	}
	return blockers, nil
}
