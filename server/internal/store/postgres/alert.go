package postgres

import (
	"context"
	"time"
)

// PurgeAlerts deletes at most limit alerts that were resolved before a time, and as
// many silences that were over.
func (s *Store) PurgeAlerts(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.pool.Change(ctx, "select recoup.purge_alerts($1, $2) + recoup.purge_silences($1, $2)", before, clamp(limit)).Scan(&n)
	return n, failure("purge alerts", err)
}
