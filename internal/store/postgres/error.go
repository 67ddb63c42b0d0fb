package postgres

import (
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
)

// errorColumns lists the columns of recoup.error on the wire. What moves with a
// claim is in recoup.due: see [currentColumns].
func errorColumns() []column[recoup.Error] { return columns(store.Errors.Columns) }

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

// Where the rows of an error are: e, and d if it waits for a retry.
const (
	leaseOf = ` left join lateral (select lease_token, lease_worker, leased_at, lease_ends_at
		from recoup.due where due.error_id = e.error_id) d on true`
	fromError = " from recoup.error e" + leaseOf
)

// current lists the columns of an error for a statement, put together from both
// rows: while a lease is held, it says when the last retry was and when the next
// may be. What is resolved keeps its key and the time of a reminder until it is
// archived, so that resolving it touches no index.
func current(columns []column[recoup.Error]) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		switch c.name {
		case "lease_token", "lease_worker", "leased_at", "lease_ends_at":
			list[i] = "d." + c.name
		case "next_retry_at":
			list[i] = "coalesce(d.lease_ends_at, e.next_retry_at)"
		case "last_retry_at":
			list[i] = "coalesce(d.leased_at, e.last_retry_at)"
		case "updated_at":
			list[i] = "greatest(e.updated_at, d.leased_at)"
		case "replaceable":
			list[i] = "e.replaceable and e.state <> 'RESOLVED'"
		case "next_reminder_at":
			list[i] = "case when e.state <> 'RESOLVED' then e.next_reminder_at end"
		default:
			list[i] = "e." + c.name
		}
	}
	return strings.Join(list, ", ")
}

// archiveColumns lists the columns of recoup.error_archive: those of an error
// and those that archiving adds.
func archiveColumns() []column[recoup.Error] {
	return append(errorColumns(), columns(store.Archiving)...)
}

// names lists columns for a statement, each with a prefix such as "e.".
func names[R any](columns []column[R], prefix string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = prefix + c.name
	}
	return strings.Join(list, ", ")
}
