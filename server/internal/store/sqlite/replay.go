package sqlite

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const (
	purgeItems = `delete from replay_item where (replay_id, position) in (select i.replay_id, i.position
		from replay r join replay_item i on i.replay_id = r.replay_id where r.ended_at <= ? order by r.ended_at limit 0 + ?)`
	purgeEmpty = `select replay_id from replay r where ended_at <= ?
		and not exists (select 1 from replay_item i where i.replay_id = r.replay_id) limit 0 + ?`
)

// PurgeReplays deletes items of replays that have ended before a time, and the
// replays of which none is left.
func (s *Store) PurgeReplays(ctx context.Context, before time.Time, limit int) (n int, err error) {
	size := sqldb.Page{Limit: limit}.Size()
	err = s.writer.do(ctx, func(tx *tx) error {
		if err := tx.exec(`update retention set replays_until = ?`, micros(before)); err != nil {
			return err
		}
		if n, err = tx.change(purgeItems, micros(before), size); err != nil {
			return err
		}
		empty, err := collectAll(tx, idField, purgeEmpty, micros(before), size)
		if err != nil {
			return err
		}
		for _, text := range []string{
			`delete from replay where replay_id = ?`, `delete from replay_count where replay_id = ?`, `delete from dead_letter_note where replay_id = ?`,
		} {
			if err := each(tx, text, empty, idField); err != nil {
				return err
			}
		}
		return tx.exec(`update retention set replays_until = null`)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func idField(key *recoup.ID) []any { return []any{id{key}} }
