package sqlite

import (
	"context"
	"time"
)

// purgeBatch is how many rows of history go in one transaction, so that others
// need not wait long for their turn.
const purgeBatch = 1000

const (
	purgeArchive = `delete from error_archive where rowid in
		(select rowid from error_archive where purge_at <= ? order by purge_at limit 0 + ?)`
	purgeHistory = `delete from transition where seq in (select seq from (
		select seq, at from transition order by seq limit 0 + ?) where at < (select history_until from retention))`
)

// PurgeArchive deletes at most limit archived errors whose retention is over,
// those first whose retention ended first. The archive's guard lets them go
// because, and as far as, the table retention says so for this one transaction.
func (s *Store) PurgeArchive(ctx context.Context, now time.Time, limit int) (int, error) {
	var n int
	err := s.writer.do(ctx, func(tx *tx) error {
		err := tx.exec(`update retention set archive_until = ?`, micros(now))
		if err != nil {
			return err
		}
		n, err = tx.change(purgeArchive, micros(now), max(limit, 0))
		if err != nil {
			return err
		}
		return tx.exec(`update retention set archive_until = null`)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// EnsurePartitions drops history that is older than the longest TTL and the
// longest archive together. The file has no partitions, so there is nothing to
// make ready.
func (s *Store) EnsurePartitions(ctx context.Context, now time.Time) error {
	for n := purgeBatch; n == purgeBatch; {
		err := s.writer.do(ctx, func(tx *tx) (err error) {
			n, err = tx.purgeHistory(now)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) purgeHistory(now time.Time) (int, error) {
	err := t.exec(`update retention set history_until = (select ? - max(ttl) - max(retention) from error_table)`, micros(now))
	if err != nil {
		return 0, err
	}
	n, err := t.change(purgeHistory, purgeBatch)
	if err != nil {
		return 0, err
	}
	return n, t.exec(`update retention set history_until = null`)
}
