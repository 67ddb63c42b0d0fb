package endtoend

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// TestFailover takes the primary away from two nodes whose address names it and its
// synchronous standby: by a kill, or by making it read-only as a switchover does, with all
// its sessions alive. The standby is promoted, and the nodes go on there without a
// restart: every report that was acknowledged is there, those that were not were sent again
// under their keys and are there once, and a leader works. How long nobody was
// answered is printed (go test -v), and not judged.
func TestFailover(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(t *testing.T, primary *pgtest.Server){
		"killed":    func(_ *testing.T, primary *pgtest.Server) { primary.Kill() },
		"read-only": demote,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := pgtest.Start(t, pgtest.Options{})
			owner, nodes := primary.Migrated(t)
			pgtest.HoldToClock(t, owner)
			standby := primary.Standby(t)
			primary.Admin(t, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")
			r := newReporters(t, database{Kind: "postgres", Owner: owner, Nodes: primary.Or(t, nodes, standby)}, 2)
			r.run(3)
			r.await(20)
			take(t, primary)
			standby.Promote(t)
			r.await(40)
			r.finish()
			r.verify(primary.Or(t, owner, standby) + "&target_session_attrs=read-write")
		})
	}
}

// demote makes a primary read-only, and returns when the last that was begun before is
// committed.
func demote(t *testing.T, primary *pgtest.Server) {
	t.Helper()
	primary.Admin(t, "alter system set default_transaction_read_only = on", "select pg_reload_conf()", `
		do $$ begin
			loop
				perform pg_sleep(0.3), pg_stat_clear_snapshot();
				exit when not exists (select from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid());
			end loop;
		end $$`)
	t.Cleanup(func() {
		primary.Admin(t, "set default_transaction_read_only = off", "alter system reset default_transaction_read_only",
			"alter system reset synchronous_standby_names", "select pg_reload_conf()")
	})
}
