package endtoend

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/test/chaos"
)

// TestChaosFailover does what TestChaosPostgres does to nodes whose address names two
// servers, one of them the synchronous standby of the other. The one that takes
// writes is killed, again and again, and the other takes its place:
// RECOUP_CHAOS_FAILOVERS says how often at least.
func TestChaosFailover(t *testing.T) {
	tier.Nightly(t, "a failover takes minutes of faults; TestChaosPostgres and TestFailover run for every change")
	t.Parallel()
	r := regime{
		mixed: chaos.Mix{chaos.Failover: 2, chaos.KillNode: 1, chaos.KillLeader: 1, chaos.PauseNode: 1, chaos.EndSessions: 1},
		dense: chaos.Mix{chaos.Failover: 2, chaos.KillNode: 1},
		rest:  time.Second,
		goals: map[string]func(chaos.Counts) int{"RECOUP_CHAOS_FAILOVERS": func(c chaos.Counts) int { return c[chaos.Failover] }},
	}
	inSlices(t, r, func(t *testing.T, seed uint64) *chaosRun {
		primary := pgtest.Start(t, pgtest.Options{Durable: pgtest.Durable()})
		owner, nodes := primary.Migrated(t)
		pgtest.HoldToClock(t, owner)
		standby := primary.Standby(t)
		t.Cleanup(func() { primary.Abort(); standby.Abort() })
		either := func(address string) string {
			return strings.Replace(address, primary.Host(), primary.Host()+","+standby.Host(), 1) + "&target_session_attrs=read-write"
		}
		c := newChaos(t, seed, database{Kind: "postgres", Owner: either(owner), Nodes: either(nodes)})
		c.server, c.standby = primary, standby
		c.synchronise()
		for range 3 {
			c.add(c.d.Nodes, nil)
		}
		return c
	})
}

// failOver kills the server that takes writes, promotes its standby, and has the
// killed one follow it.
func (c *chaosRun) failOver() {
	c.Helper()
	c.server.Kill()
	c.standby.Admin(c.T, "select pg_promote()")
	c.server, c.standby = c.standby, c.server
	c.standby.Rejoin(c.T, c.server)
	c.synchronise()
}

// synchronise has the server acknowledge from now on only what its standby has, too.
func (c *chaosRun) synchronise() {
	c.Helper()
	c.server.Admin(c.T, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()")
	for range rounds {
		if c.server.Answer(c.T, "select count(*) from pg_stat_replication where sync_state = 'sync' and state = 'streaming'") == 1 {
			return
		}
		_ = retry.Sleep(c.Context(), 50*time.Millisecond)
	}
	c.Fatal("the standby does not follow")
}
