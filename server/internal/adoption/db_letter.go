package adoption

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// selectParked reads parked errors of a table in the order of their index, and of those
// the policy's own that are of source rows.
const selectParked = `select r.key, p.error_id, coalesce(p.entity_id, ''), p.retry_exhausted or p.park_reason in ('MAX_RETRIES_EXCEEDED', 'RETRY_WINDOW_CLOSED'), p.retry_count, p.created_at,
		p.parked_at, p.parked_by = 'system' and p.assigned_to is null and p.state in ('PARKED', 'ESCALATED')
	from (select * from recoup.error where table_name = $2 and parked_at is not null and (parked_at, error_id) > ($3, $4)
		order by parked_at, error_id limit $5) p
	left join lateral (select key from recoup.adopted_row where error_id = p.error_id and adoption_id = $1 limit 1) r on true
	order by p.parked_at, p.error_id`

// ParkedRows returns rows of the errors in a table that the policy has parked and nobody
// is assigned to, the longest parked first, out of so many parked errors behind a cursor,
// and that of the last of these; zero: there are none further.
func (s *DB) ParkedRows(ctx context.Context, adoption int, table string, after sqldb.Cursor, limit int) (list []ParkedRow, last sqldb.Cursor, err error) {
	rows, err := s.pool.Query(ctx, selectParked, adoption, table, after.At, after.ID, sqldb.Clamp(limit))
	all, err := postgres.CollectRows("read what is parked of an adopted table", rows, err, func(row pgx.CollectableRow) (at sqldb.Cursor, err error) {
		var p ParkedRow
		var key *string
		var ours bool
		err = row.Scan(&key, &p.ErrorID, &p.EntityID, &p.Exhausted, &p.RetryCount, &p.CreatedAt, &at.At, &ours)
		if at.ID = p.ErrorID; key != nil && ours {
			p.Key = *key
			list = append(list, p)
		}
		return at, err
	})
	if len(all) == sqldb.Clamp(limit) {
		last = all[len(all)-1]
	}
	return list, last, err
}

// selectLanesOf goes from lane to lane by the indexes, as selectLaneNames does.
var selectLanesOf = `with recursive lane (pipeline, stage) as ((` + nextLaneOf("($2, $3)") + `)
		union all
		select n.pipeline, n.stage from lane l cross join lateral (` + nextLaneOf("(l.pipeline, l.stage)") + `) n)
	select * from (select * from lane limit $4) l where pipeline = $1 or starts_with(pipeline, $1 || ':')`

// nextLaneOf is the first lane behind one whose pipeline begins like $1. A colon is before
// a semicolon, and everything else that a name may go on with is before or behind both.
func nextLaneOf(lane string) string {
	within := func(t string) string {
		return "(" + t + ".pipeline, " + t + ".stage) > " + lane + " and " + t + ".pipeline >= $1 and " + t + ".pipeline < $1 || ';'"
	}
	return postgres.NextLane(within("d"), within("w"), "false")
}

// LanesOf returns the lanes behind one in which work waits or is held, of the pipeline of
// that name and of those whose names go on with a colon, in their order.
func (s *DB) LanesOf(ctx context.Context, pipeline string, after recoup.Lane, limit int) ([]recoup.Lane, error) {
	rows, err := s.pool.Query(ctx, selectLanesOf, pipeline, after.Pipeline, after.Stage, sqldb.Clamp(limit))
	return postgres.CollectRows("read the lanes of a queue", rows, err, pgx.RowToStructByPos[recoup.Lane])
}

// KeysOf returns the rows that have these errors, by the errors.
func (s *DB) KeysOf(ctx context.Context, adoption int, ids []recoup.ID) (map[recoup.ID]string, error) {
	keys := make(map[recoup.ID]string, len(ids))
	rows, err := s.pool.Query(ctx, "select error_id, key from recoup.adopted_row where error_id = any ($2::uuid[]) and adoption_id = $1", adoption, postgres.IDs(ids))
	_, err = postgres.CollectRows("read adopted rows", rows, err, func(row pgx.CollectableRow) (id recoup.ID, err error) {
		var key string
		err = row.Scan(&id, &key)
		keys[id] = key
		return id, err
	})
	return keys, err
}
