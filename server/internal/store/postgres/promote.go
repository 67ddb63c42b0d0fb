package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Promote implements [sqlops.Tx].
func (a *act) Promote(p store.Promotion, done *store.Promoted) error {
	a.queue("select seq, promoted_at from recoup.promote_for($1, $2, $3, $4, $5)", p.Entity, p.Phase, p.By, a.due(), p.ID[:]).
		QueryRow(func(row pgx.Row) error {
			var seq *int64
			var at *time.Time
			if err := row.Scan(&seq, &at); err != nil || seq == nil {
				return err
			}
			*done = store.Promoted{Seq: *seq, At: at.UTC()}
			return nil
		})
	return nil
}
