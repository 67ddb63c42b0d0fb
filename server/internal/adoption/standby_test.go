package adoption_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// A backfill waits while a standby is behind, and goes on when it has caught up. The
// standby is a real one, whose replay is paused.
func TestBackfillWaitsForAStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	db, url := node.PostgresAt(t, server)
	w := newWorldOn(t, db, url)
	server.Admin(t, "grant pg_read_all_stats to recoup_owner")
	standby := server.Standby(t)
	w.exec("insert into shop.failures (order_id, kind, at) select 'o' || n, 'TIMEOUT', '2026-02-02 09:00' from generate_series(1, 1200) n")
	w.adopt(mapping)
	standby.Admin(t, "select pg_wal_replay_pause()")
	w.behind(func(lag time.Duration) bool { return lag > 10*time.Second })
	for range 3 {
		w.Must(w.service.Run(t.Context()))
		w.Must(w.service.Close(t.Context()))
		w.want("select state, scanned from recoup.adoption", "BACKFILLING 0")
		w.Wait(time.Minute)
	}

	standby.Admin(t, "select pg_wal_replay_resume()")
	w.behind(func(lag time.Duration) bool { return lag < 10*time.Second })
	for w.ask("select state from recoup.adoption") != "GOVERNED" {
		w.Must(w.service.Run(t.Context()))
		w.Must(w.service.Close(t.Context()))
		w.Wait(time.Minute)
	}
	w.want("select scanned from recoup.adoption", "1200")
}

// behind writes until the standby is as far behind as it should be.
func (w *world) behind(so func(time.Duration) bool) {
	w.Helper()
	for range 600 {
		lag, err := w.rows.ReplicationLag(w.Context())
		w.Must(err)
		if so(lag) {
			return
		}
		w.exec("create table if not exists shop.noise (n int); insert into shop.noise values (1)")
		w.Must(retry.Sleep(w.Context(), 100*time.Millisecond))
	}
	w.Fatal("the standby does not follow")
}
