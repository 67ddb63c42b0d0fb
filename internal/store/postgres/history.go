package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

const historyTable = "transition"

// historyColumns lists the columns of recoup.transition on the wire.
func historyColumns() []column[recoup.Transition] { return columns(store.History.Columns) }

// History returns the history of an error, oldest first.
func (s *Store) History(ctx context.Context, id recoup.ID, limit int) ([]recoup.Transition, error) {
	columns := historyColumns()
	rows, err := s.pool.Query(ctx, "select "+names(columns, "")+`
		from recoup.error_history where error_id = $1 order by at, seq limit $2`, id[:], clamp(limit))
	return collectRows("read the history", rows, err, decode(columns))
}

// within asks about a span of time. The server plans for the span that it is: its
// plan for any span, which it would make after five, reads far too much.
func (s *Store) within(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return s.pool.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// collectRows reads the answer to one statement.
func collectRows[R any](doing string, rows pgx.Rows, err error, row pgx.RowToFunc[R]) ([]R, error) {
	if err != nil {
		return nil, failure(doing, err)
	}
	list, err := pgx.CollectRows(rows, row)
	return list, failure(doing, err)
}

// clamp keeps a limit between one row and a page.
func clamp(limit int) int { return min(max(limit, 1), store.MaxPage) }
