package sqlite

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const (
	purgeAlerts = `delete from alert where alert_id in
		(select alert_id from alert where resolved_at < ? order by resolved_at limit 0 + ?)`
	purgeSilences = `delete from silence where silence_id in
		(select silence_id from silence where created_at < ?1 and until < ?1 order by created_at, silence_id limit 0 + ?2)`
)

// PurgeAlerts deletes at most limit alerts that were resolved before a time, and as
// many silences that were over. The guard lets them go because, and as far as, the
// table retention says so for this one transaction.
func (s *Store) PurgeAlerts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		err := tx.exec(`update retention set alert_until = ?`, micros(before))
		if err != nil {
			return err
		}
		n = 0
		for _, purge := range []string{purgeAlerts, purgeSilences} {
			gone, err := tx.change(purge, micros(before), sqldb.Page{Limit: limit}.Size())
			if err != nil {
				return err
			}
			n += gone
		}
		return tx.exec(`update retention set alert_until = null`)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
