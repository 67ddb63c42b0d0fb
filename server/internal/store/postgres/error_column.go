package postgres

import (
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// errorColumns lists the columns of recoup.error on the wire. What moves with a
// claim is in recoup.due: see [currentColumns].
func errorColumns() []column[recoup.Error] {
	return columns(store.OpenErrors.Columns)
}

// leasedColumns lists the columns of recoup.due that hold a lease.
func leasedColumns() []column[recoup.Error] { return columns(store.Leases) }

// dueColumns lists the columns of recoup.due for an error that nobody holds.
func dueColumns() []column[recoup.Error] {
	type e = recoup.Error
	return append([]column[e]{
		id("error_id", func(e *e) *recoup.ID { return &e.ID }),
		text("table_name", func(e *e) *string { return &e.Table }),
		text("policy_version", func(e *e) *string { return &e.PolicyVersion }),
		stamp("due_at", func(e *e) *time.Time { return &e.NextRetryAt }),
		stamp("window_ends_at", func(e *e) *time.Time { return &e.WindowEndsAt }),
		stamp("expires_at", func(e *e) *time.Time { return &e.ExpiresAt }),
	}, leasedColumns()...)
}

// currentColumns lists what an error has, read from both of its rows.
func currentColumns() []column[recoup.Error] { return append(errorColumns(), leasedColumns()...) }

// archiveColumns lists the columns of recoup.error_archive: those of an error but for its
// marks, and those that archiving adds.
func archiveColumns() []column[recoup.Error] {
	return columns(slices.Concat(store.Errors.Columns, store.Archiving))
}

// names lists columns for a statement, each with a prefix such as "e.".
func names[R any](columns []column[R], prefix string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = prefix + c.name
	}
	return strings.Join(list, ", ")
}
