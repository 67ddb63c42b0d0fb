package sqlite

import (
	"database/sql"
	"errors"

	"github.com/recoup-dev/recoup/server/internal/store"
)

const insertPromotion = `insert into promotion (seq, promotion_id, entity_id, phase, promoted_by, promoted_at)
	select seq, ?1, ?2, ?3, ?4, ?5 from gate_next
	where not exists (select 1 from error indexed by error_entity_idx where entity_id = ?2 and blocking) returning seq`

// Promote implements [sqlops.Tx]. Reports wait their turn behind it, so nothing can come
// between its check and its commit.
func (a act) Promote(p store.Promotion, done *store.Promoted) error {
	var seq int64
	err := a.row(insertPromotion, id{&p.ID}, p.Entity, p.Phase, p.By, micros(a.now)).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	*done = store.Promoted{Seq: seq, At: a.now}
	return err
}
