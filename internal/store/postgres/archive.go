package postgres

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/store"
)

// PurgeArchive deletes at most limit archived errors whose retention is over.
func (s *Store) PurgeArchive(ctx context.Context, now time.Time, limit int) (int, error) {
	var n int
	err := s.pool.QueryRow(ctx, "select recoup.purge_archive($1, $2)", now, clamp(limit)).Scan(&n)
	return n, failure("purge the archive", err)
}

// Archived lists the archive of a table, last archived first.
func (s *Store) Archived(ctx context.Context, table string, p store.Page) ([]recoup.Error, store.Cursor, error) {
	q := query{}
	q.add("select " + names(s.sql.archive, "") + " from recoup.error_archive where table_name = " + q.arg(table))
	q.before("archived_at", p.Cursor)
	q.add(" order by archived_at desc, error_id desc limit " + q.arg(p.Size()))
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list the archive", rows, err, decode(s.sql.archive))
	return list, next(list, p, func(e *recoup.Error) time.Time { return e.ArchivedAt }), err
}
