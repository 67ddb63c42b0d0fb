package sqlite

import (
	"database/sql/driver"
	"strings"

	"recoup"
	"recoup/internal/store"
)

// The columns of the queue, and the fields they belong to, in the same order; the
// first queueChanges can change, the key counted.
var (
	queueColumns = store.WorkQueue.Names("")
	queueChanges = len(store.WorkQueue.Changing().Columns)
)

func queueFields(q *store.QueuedWork) []any {
	return []any{
		id{&q.WorkID}, text[string]{&q.Stage}, stamp{&q.DueAt}, id{&q.LeaseToken}, text[string]{&q.LeaseWorker}, stamp{&q.LeasedAt},
		stamp{&q.LeaseEndsAt}, optional{&q.Claims}, optional{&q.Lapses}, text[string]{&q.Pipeline}, text[recoup.Code]{&q.Class},
		id{&q.ReplayID}, id{&q.ErrorID}, text[string]{&q.PayloadRef}, text[string]{&q.PayloadHash}, stamp{&q.CreatedAt},
	}
}

// optional is a number that may be missing from an outer join.
type optional struct{ to *int }

func (f optional) Value() (driver.Value, error) { return number(f).Value() }

func (f optional) Scan(src any) error {
	if src == nil {
		*f.to = 0
		return nil
	}
	return number(f).Scan(src)
}

// of names the columns of one table in a join.
func of(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

// addTo returns the statement that writes one row with these columns.
func addTo(table, columns string) string {
	return "insert into " + table + " (" + columns + ") values (?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ")"
}
