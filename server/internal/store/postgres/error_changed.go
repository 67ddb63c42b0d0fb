package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// selectChanged reads the end of the history, by the ranges of its pages, and of the
// archive of each table. An error that is archived has its last row there.
const selectChanged = `
	(select h.error_id, e.table_name, h.state, h.at, h.seq from recoup.transition h join recoup.error e on e.error_id = h.error_id
		where h.at > $1 order by h.at desc, h.seq desc limit $3)
	union all
	(select a.error_id, a.table_name, a.state, a.archived_at, a.end_seq from unnest($2::text[]) t (name) cross join lateral (
		select error_id, table_name, state, archived_at, end_seq from recoup.error_archive
		where table_name = t.name and archived_at > $1 order by archived_at desc, error_id desc limit $3) a)
	order by 4 desc, 5 desc limit $3`

// ChangeMark returns where to begin.
func (s *Store) ChangeMark(ctx context.Context, now time.Time) (store.ChangeMark, error) {
	var mark store.ChangeMark
	err := s.pool.QueryRow(ctx, "select least($1, recoup.clock())", now).Scan(&mark.At)
	return mark, failure("begin to watch changes", err)
}

// Changed returns what has happened since a mark. Commits are in the order of nothing, so
// it looks back a little.
func (s *Store) Changed(ctx context.Context, since store.ChangeMark, tables []string, limit int) ([]store.Changed, store.ChangeMark, error) {
	rows, err := s.pool.Query(ctx, selectChanged, since.At.Add(-store.ChangeOverlap), tables, limit)
	list, err := collectRows("read changes", rows, err, func(row pgx.CollectableRow) (c store.Changed, err error) {
		var state string
		err = row.Scan(&c.ErrorID, &c.Table, &state, &c.At, &c.Seq)
		c.State = recoup.State(state)
		return c, err
	})
	if len(list) > 0 && list[0].At.After(since.At) {
		since.At = list[0].At
	}
	return list, since, err
}
