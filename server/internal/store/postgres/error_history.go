package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const historyTable = "transition"

// historyColumns lists the columns of recoup.transition on the wire.
func historyColumns() []column[recoup.Transition] { return columns(store.History.Columns) }

// collectRows reads the answer to one statement.
func collectRows[R any](doing string, rows pgx.Rows, err error, row pgx.RowToFunc[R]) ([]R, error) {
	if err != nil {
		return nil, failure(doing, err)
	}
	list, err := pgx.CollectRows(rows, row)
	return list, failure(doing, err)
}

// clamp keeps a limit between one row and a page.
func clamp(limit int) int { return min(max(limit, 1), sqldb.MaxPage) }
