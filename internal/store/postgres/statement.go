package postgres

import "recoup"

// statements are the columns of what is stored and the statements made of them,
// put together once.
type statements struct {
	errors  []column[recoup.Error]
	archive []column[recoup.Error]
	history []column[recoup.Transition]

	lockKeys, lockIDs, archived, claim, blocking string
}

func newStatements() statements {
	s := statements{errors: errorColumns(), archive: archiveColumns(), history: historyColumns()}
	cols := names(s.errors, "e.")

	// Rows are locked in the order of their ids by every verb that waits for
	// them, so that no two verbs wait for each other.
	s.lockKeys = "select " + cols + ` from recoup.error e
		where e.error_id = any (array(
			select o.error_id from unnest($1::text[], $2::text[], $3::text[]) as k (t, e, c)
			join recoup.error o on coalesce(o.reported_table, o.table_name) = k.t and o.entity_id = k.e and o.code = k.c and o.replaceable
			union all select unnest($4::uuid[])))
		order by e.error_id for update`
	s.lockIDs = "select " + cols + " from recoup.error e where e.error_id = any ($1::uuid[]) order by e.error_id for update"
	s.archived = "select " + names(s.archive, "") + " from recoup.error_archive where error_id = any ($1::uuid[])"

	// The due predicate is what lifecycle.Step asks of a claim.
	s.claim = "select " + cols + ` from unnest($1::text[]) as t (name) cross join lateral (
			select * from recoup.error
			where table_name = t.name and state = 'RETRY_PENDING' and next_retry_at <= ` + clockOr("$2") + `
				and (retry_window_ends_at is null or retry_window_ends_at >= ` + clockOr("$2") + ` or lease_token is not null)
				and (expires_at is null or expires_at > ` + clockOr("$2") + `)
			order by next_retry_at limit $3 for update skip locked) e
		limit $3`

	s.blocking = "select " + cols + " from recoup.error e where entity_id = $1 and blocking order by created_at, error_id limit $2"
	return s
}
