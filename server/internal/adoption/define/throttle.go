package define

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// What a filling waits for: replicas that are behind, and a server that is busy.
const (
	mostLag     = 64 << 20 // bytes that a replica has not replayed
	mostLagTime = 10 * time.Second
	mostActive  = 2 // sessions that run a statement, for each worker process the server may use
)

// A user who may not see the state of replicas sees none, and goes on.
const findLoad = `
select coalesce((select max(greatest(pg_wal_lsn_diff(case when pg_is_in_recovery() then null else pg_current_wal_lsn() end, replay_lsn), 0)) from pg_stat_replication), 0)::bigint,
  coalesce((select extract(epoch from max(replay_lag)) from pg_stat_replication), 0)::float8,
  (select count(*) from pg_stat_activity where state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid()),
  current_setting('max_worker_processes')::int`

// throttle returns once replicas have caught up and the server is not overloaded.
func (r *Runner) throttle(ctx context.Context) error {
	for {
		var lag int64
		var behind float64
		var active, workers int
		err := r.ask(ctx, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, findLoad).Scan(&lag, &behind, &active, &workers)
		})
		if err != nil {
			return err
		}
		var why string
		switch {
		case lag > mostLag || behind > mostLagTime.Seconds():
			why = "a replica is behind"
		case active > mostActive*workers:
			why = "the server is busy"
		default:
			return nil
		}
		r.report(Progress{Step: stepKeyFill, Waits: time.Second, Blocker: why})
		if err := r.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}
