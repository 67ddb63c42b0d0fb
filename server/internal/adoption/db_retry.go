package adoption

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// maxDueLooked is at how many due errors of a table is looked for those of source rows:
// others may have reported to the same table.
const maxDueLooked = 5000

// selectDueRows is what is due and free, and what a worker has leased without having set
// the job off: it has ended in between. While a lease is held due_at stays as it was.
// It goes by the index whatever is known of the table: see behind.
var selectDueRows = `select r.key, r.error_id, case when d.lease_ends_at > ` + postgres.ClockOr("$5") + ` then d.lease_token end
	from (select * from recoup.due where (table_name, due_at) >= ($2, '-infinity') order by table_name, due_at limit ` + fmt.Sprint(maxDueLooked) + `) d
	join recoup.adopted_row r on r.error_id = d.error_id and r.adoption_id = $1
	where d.table_name = $2 and d.due_at <= ` + postgres.ClockOr("$5") + ` and (d.lease_token is null or d.lease_ends_at <= ` + postgres.ClockOr("$5") + ` or d.lease_worker = $3 and r.attempt is distinct from d.lease_token)
	order by d.table_name, d.due_at limit $4`

// DueRows returns rows whose errors in a table are due, and those that a worker has leased
// whose jobs were not set off yet, the longest due first.
func (s *DB) DueRows(ctx context.Context, adoption int, table, worker string, limit int) (list []DueRow, err error) {
	err = s.store.Transact(ctx, "read what is due of an adopted table", func(t postgres.Tx) error {
		list = nil
		postgres.Collect(t.Queue(selectDueRows, adoption, table, worker, sqldb.Clamp(limit), t.Due()), func(row pgx.CollectableRow) (d DueRow, err error) {
			var token *recoup.ID
			if err = row.Scan(&d.Key, &d.ErrorID, &token); token != nil {
				d.Token = *token
			}
			return d, err
		}, &list)
		return nil
	})
	return list, err
}

// RequeueJobs lets the jobs of rows run once more, then notes under which leases, and returns the
// keys of those that it has set off. What is no failure any more is noted, and not set off.
// The jobs run first: a node that dies before the attempts
// are noted finds their errors leased without an attempt, and asks again.
func (s *DB) RequeueJobs(ctx context.Context, turn Lease, rows []DueRow) (off []string, err error) {
	const doing = "set off jobs"
	keys, tokens := make([]string, len(rows)), make([]recoup.ID, len(rows))
	for i := range rows {
		keys[i], tokens[i] = rows[i].Key, rows[i].Token
	}
	if err := s.holdsTurn(ctx, doing, turn); err != nil {
		return nil, err
	}
	if off, err = keysAtSource(ctx, s, doing, turn.Adoption, "retry", keys); err != nil {
		return nil, err
	}
	return off, s.inTurn(ctx, doing, turn, func(t postgres.Tx) error {
		t.Queue(`update recoup.adopted_row r set attempt = n.token from unnest($2::text[], $3::uuid[]) as n (key, token)
			where r.adoption_id = $1 and r.key = n.key`, turn.Adoption, keys, postgres.IDs(tokens))
		return nil
	})
}

// PairsUnderway returns the pairs behind a key that have an attempt, in the order of keys.
func (s *DB) PairsUnderway(ctx context.Context, adoption int, after string, limit int) ([]Row, error) {
	rows, err := s.pool.Query(ctx, selectUnderway, adoption, after, sqldb.Clamp(limit))
	return postgres.CollectRows("read adopted rows", rows, err, scanPair)
}
