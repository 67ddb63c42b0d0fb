package postgres

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// statements are the columns of what is stored and the statements made of them,
// put together once.
type statements struct {
	errors  []column[recoup.Error] // as they are read, from both rows
	stored  []column[recoup.Error] // of recoup.error
	claimed []column[recoup.Error] // of recoup.error, as a claim reads them
	due     []column[recoup.Error] // of recoup.due
	archive []column[recoup.Error]
	history []column[recoup.Transition]

	findKeys, lockDue, lockIDs, readIDs, archived, claim string
}

func newStatements() statements {
	s := statements{errors: currentColumns(), stored: errorColumns(), claimed: claimedColumns(), due: dueColumns(), archive: archiveColumns(), history: historyColumns()}
	table := sqlops.Current(sqldb.PostgreSQL)
	current := "select " + table.Names("") + " from " + table.Name

	s.findKeys = `select o.error_id from unnest($1::text[], $2::text[], $3::text[]) as k (t, e, c)
		join recoup.error o on coalesce(o.reported_table, o.table_name) = k.t and o.entity_id = k.e and o.code = k.c and o.replaceable`

	// Rows are locked in the order of their ids by every verb that waits for
	// them, in recoup.due first, so that no two verbs wait for each other. They are
	// read when both are locked.
	s.lockDue = "select from recoup.due where error_id = any ($1::uuid[]) order by error_id for update"
	s.lockIDs = "select from recoup.error where error_id = any ($1::uuid[]) order by error_id for update"
	s.readIDs = current + " where e.error_id = any ($1::uuid[]) order by e.error_id"
	s.archived = "select " + names(s.archive, "") + " from recoup.error_archive where error_id = any ($1::uuid[])"

	// The due predicate is what lifecycle.Step asks of a claim.
	s.claim = `select d.error_id from unnest($1::text[]) as t (name) cross join lateral (
			select error_id from recoup.due
			where table_name = t.name and due_at <= ` + clockOr("$2") + `
				and (lease_ends_at is null and (window_ends_at is null or window_ends_at >= ` + clockOr("$2") + `)
					or lease_ends_at <= ` + clockOr("$2") + `)
				and (expires_at is null or expires_at > ` + clockOr("$2") + `) and error_id <> all ($4::uuid[])
			order by due_at limit $3 for update skip locked) d
		limit $3`
	return s
}
