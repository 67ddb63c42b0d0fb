package postgres

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// tidyLeases forgets claims whose leases have all ended.
const tidyLeases = `delete from recoup.lease l where l.ends_at <= $1 and not exists (
	select from unnest(l.errors) as n (error_id) join recoup.due d on d.error_id = n.error_id and d.leased_at = l.leased_at)`

// Due returns ids of errors whose deadline has come, longest overdue first, without
// the first of them.
func (s *Store) Due(ctx context.Context, d store.Deadline, now time.Time, skip, limit int) ([]recoup.ID, error) {
	if d == store.DueLapse && skip == 0 {
		if _, err := s.pool.Exec(ctx, tidyLeases, now); err != nil {
			return nil, failure("forget leases", err)
		}
	}
	return s.Ops.Due(ctx, d, now, skip, limit)
}

// PurgeArchive deletes at most limit archived errors whose retention is over.
func (s *Store) PurgeArchive(ctx context.Context, now time.Time, limit int) (int, error) {
	var n int
	err := s.pool.Change(ctx, "select recoup.purge_archive($1, $2)", now, clamp(limit)).Scan(&n)
	return n, failure("purge the archive", err)
}
