package endtoend

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/test/chaos"
)

// TestChaosBus does what TestChaosPostgres does to nodes whose events travel by a cluster
// of three servers, which is taken away too: one server, the one that leads the stream,
// all of them, and each node's way to them. RECOUP_CHAOS_BUS_KILLS says how often servers
// are killed at least.
func TestChaosBus(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	r := regime{
		mixed: chaos.Mix{chaos.KillBus: 2, chaos.KillBusLeader: 2, chaos.KillBusAll: 1, chaos.PauseBus: 1, chaos.CutBus: 1, chaos.StallBus: 1,
			chaos.KillNode: 2, chaos.KillTwo: 1, chaos.PauseNode: 1, chaos.RestartNode: 1, chaos.AbortDatabase: 1, chaos.DatabaseAway: 1, chaos.KillBereft: 2, chaos.MuteDatabase: 1},
		dense: chaos.Mix{chaos.KillBus: 4, chaos.KillBusLeader: 4, chaos.KillBusAll: 1, chaos.KillNode: 1, chaos.KillBereft: 1},
		rest:  2 * time.Second, // in which events travel by the bus
		goals: map[string]func(chaos.Counts) int{"RECOUP_CHAOS_BUS_KILLS": chaos.Counts.BusKills},
	}
	inSlices(t, r, func(t *testing.T, seed uint64) *chaosRun { return onPostgres(t, seed, newChaosBus(t)) })
}

// chaosBus is the servers of a bus, and each node's ways to them.
type chaosBus struct {
	*testing.T
	cluster *bustest.Cluster
	ways    [][]*faultproxy.Proxy // of each node, to each server
	watch   *bus.Conn             // the test's own
}

func newChaosBus(t *testing.T) *chaosBus {
	t.Helper()
	b := &chaosBus{T: t, cluster: bustest.Start(t, 3)}
	bustest.Eventually(t, "the cluster", func() bool { return busReady(b.cluster) })
	var err error
	if b.watch, err = bus.Open(t.Context(), bus.Options{URL: b.cluster.URL(), Name: "watch", MaxBytes: 1 << 30, AckTimeout: time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.watch.Close)
	return b
}

// join makes a node's way to the bus, and returns the flags that have it taken.
func (b *chaosBus) join() []string {
	b.Helper()
	var ways []*faultproxy.Proxy
	var addresses []string
	for _, s := range b.cluster.Servers {
		u, err := url.Parse(s.URL)
		if err != nil {
			b.Fatal(err)
		}
		p := faultproxy.New(b.T, "tcp", u.Host)
		ways, addresses = append(ways, p), append(addresses, "nats://"+p.Addr())
	}
	b.ways = append(b.ways, ways)
	return []string{"--bus", strings.Join(addresses, ","), "--bus-limit", "1GB"}
}

// inflict does one thing to the bus, and heals it. It reports false if that is nothing to
// do with a bus.
func (b *chaosBus) inflict(f chaos.Fault, wait func()) bool {
	b.Helper()
	servers := b.cluster.Servers[f.Node : f.Node+1]
	switch f.Kind {
	case chaos.KillBusLeader:
		servers = b.leading(f.Node)
	case chaos.KillBusAll:
		servers = b.cluster.Servers
	}
	switch f.Kind {
	case chaos.KillBus, chaos.KillBusLeader, chaos.KillBusAll:
		for _, s := range servers {
			s.Kill()
		}
		wait()
		for _, s := range servers {
			s.Start()
		}
	case chaos.PauseBus:
		servers[0].Signal(syscall.SIGSTOP)
		wait()
		servers[0].Signal(syscall.SIGCONT)
	case chaos.CutBus, chaos.StallBus:
		for _, p := range b.ways[f.Node] {
			if f.Kind == chaos.CutBus {
				p.Cut()
			} else {
				p.Stall(faultproxy.Both)
			}
		}
		wait()
		for _, p := range b.ways[f.Node] {
			p.Heal()
		}
	default:
		return false
	}
	return true
}

// recovery is for how long servers are given to elect their leaders after a kill, which
// takes them four to nine seconds. If that is not enough the next fault meets them as
// they are.
const recovery = 20 * time.Second

// recover returns once every node has its events travel by the bus again: without that,
// faults would follow each other so fast that all of them went to the database.
func (c *chaosRun) recover() {
	c.Helper()
	limit, cancel := context.WithTimeout(c.Context(), recovery)
	defer cancel()
	for _, s := range c.sites {
		for !strings.Contains(s.metrics(c.key), "recoup_bus_up 1\n") && retry.Sleep(limit, 100*time.Millisecond) == nil {
		}
	}
}

// leading returns the server that leads the stream, or else another.
func (b *chaosBus) leading(otherwise int) []*bustest.Server {
	ctx, cancel := context.WithTimeout(b.Context(), time.Second)
	defer cancel()
	if status, err := b.watch.Status(ctx); err == nil {
		if n, err := strconv.Atoi(strings.TrimPrefix(status.Stream.Leader, "bus")); err == nil {
			otherwise = n - 1
		}
	}
	return b.cluster.Servers[otherwise : otherwise+1]
}

// waiting notes what is not written yet.
func (b *chaosBus) waiting(ctx context.Context, left map[string]int64) {
	status, err := b.watch.Status(ctx)
	switch {
	case err != nil || !status.Up:
		left["a bus that answers"] = 1
	case status.Stream.Oldest != nil || status.Stream.Waiting > 0:
		left["batches on the bus"] = max(1, status.Stream.Waiting)
	}
}

// left is what there is on the bus in the end.
func (b *chaosBus) left(ctx context.Context) *chaos.Bus {
	b.Helper()
	status, err := b.watch.Status(ctx)
	if err != nil || !status.Up {
		b.Fatalf("the bus does not answer: %v", err)
	}
	left := &chaos.Bus{Stream: b.watch.Generation(), Last: status.Stream.Last, Waiting: status.Stream.Waiting, Quarantined: status.Quarantined}
	if status.Stream.Oldest != nil { // also those that no node was given yet
		left.Waiting = max(left.Waiting, left.Last-status.Stream.First+1)
	}
	return left
}

// carried says which way batches of events went.
func (c *chaosRun) carried(b *chaos.Bus) {
	c.Helper()
	var all int64
	if err := c.db.QueryRowContext(c.Context(), "select count(*) from recoup.bus_batch").Scan(&all); err != nil {
		c.Fatal(err)
	}
	c.Logf("%d batches of events came by the bus, and %d directly because it was away", b.Last, all-b.Last)
}
