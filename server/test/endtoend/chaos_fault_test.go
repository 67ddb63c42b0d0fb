package endtoend

import (
	"context"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
	"github.com/recoup-dev/recoup/server/test/chaos"
)

// client talks to whatever node runs at a site, for seconds at most.
func (c *chaosRun) client(s *site) *client.Client {
	c.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 32, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *s.address.Load())
	}}
	made, err := client.New(client.Options{Server: "http://recoup.test", Key: c.key, Timeout: 3 * time.Second, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(made.Close)
	return made
}

// inflict does one thing, and heals it.
func (c *chaosRun) inflict(f chaos.Fault) {
	c.Helper()
	wait := func() { _ = retry.Sleep(c.Context(), f.For) }
	for _, way := range []func(chaos.Fault, func()) bool{c.onNode, c.onDatabase, c.onConnection, c.onClock, c.onBus} {
		if way(f, wait) {
			return
		}
	}
	c.Fatalf("nobody knows how to make a %s", f.Kind)
}

// onNode does what happens to nodes. As the others, it reports whether that is something
// that it knows.
func (c *chaosRun) onNode(f chaos.Fault, wait func()) bool {
	c.Helper()
	if f.Kind == chaos.KillLeader || f.Kind == chaos.PauseLeader {
		f.Node = c.leading(f.Node)
	}
	s := c.sites[f.Node]
	switch f.Kind {
	case chaos.KillNode, chaos.KillLeader:
		c.kill(s)
		s.start()
	case chaos.KillTwo:
		c.kill(s)
		_ = retry.Sleep(c.Context(), f.For/10)
		s.launch()
		c.kill(c.sites[f.Other])
		c.start(c.sites[f.Other])
		s.listens()
	case chaos.RestartNode:
		if err := s.signal(syscall.SIGTERM); err != nil {
			c.Errorf("asked to end, it ended with %v\n%s", err, tail(s.log.String()))
		}
		s.start()
	case chaos.PauseNode, chaos.PauseLeader:
		c.send(s, syscall.SIGSTOP)
		wait()
		c.send(s, syscall.SIGCONT)
	case chaos.FillDisk:
		limitFiles(c.T, s.node.Process.Pid, 4096)
		wait()
		limitFiles(c.T, s.node.Process.Pid, unlimited)
	default:
		return false
	}
	return true
}

// onDatabase does what happens to databases.
func (c *chaosRun) onDatabase(f chaos.Fault, wait func()) bool {
	c.Helper()
	switch f.Kind {
	case chaos.AbortDatabase, chaos.DatabaseAway, chaos.KillBereft:
		c.server.Abort()
		if f.Kind != chaos.AbortDatabase {
			wait()
		}
		if f.Kind == chaos.KillBereft {
			c.kill(c.sites[f.Node])
		}
		if err := c.server.Restart(); err != nil {
			c.Fatal(err)
		}
		if f.Kind == chaos.KillBereft {
			c.start(c.sites[f.Node])
		}
	case chaos.EndSessions:
		c.server.Admin(c.T, "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'recoup_app'")
	case chaos.Failover:
		c.failOver()
	default:
		return false
	}
	return true
}

// onConnection does what happens between nodes and their database.
func (c *chaosRun) onConnection(f chaos.Fault, wait func()) bool {
	proxy := c.proxies[f.Node]
	switch f.Kind {
	case chaos.CutNode:
		proxy.Cut()
	case chaos.StallNode:
		proxy.Stall(faultproxy.Both)
	case chaos.MuteDatabase:
		proxy.Stall(faultproxy.Answers)
	default:
		return false
	}
	wait()
	if f.Kind == chaos.MuteDatabase {
		proxy.Drop()
	}
	proxy.Heal()
	return true
}

// furthest is how far the clock of a database may be ahead of that of its server. What
// nodes write of themselves may be a quarter of an hour off, and a node's own clock follows
// the database's slowly.
const furthest = 10 * time.Minute

// onClock lets the clock of the database jump, by which acts are judged.
func (c *chaosRun) onClock(f chaos.Fault, _ func()) bool {
	c.Helper()
	if f.By == 0 {
		return false
	}
	c.shift = min(max(c.shift+f.By, 0), furthest)
	c.peak = max(c.peak, c.shift)
	pgtest.ShiftClock(c.T, c.d.Owner, c.shift)
	return true
}

// onBus does what happens to a bus.
func (c *chaosRun) onBus(f chaos.Fault, wait func()) bool {
	c.Helper()
	if c.bus == nil || !c.bus.inflict(f, wait) {
		return false
	}
	if !f.Hasty {
		c.recover()
	}
	return true
}

func (c *chaosRun) kill(s *site) {
	c.Helper()
	if err := s.signal(syscall.SIGKILL); err == nil {
		c.Error("killed, it ended without an error")
	}
}

func (c *chaosRun) send(s *site, sig syscall.Signal) {
	c.Helper()
	if err := s.node.Process.Signal(sig); err != nil {
		c.Fatal(err)
	}
}

// leading returns the node that leads, or else another.
func (c *chaosRun) leading(otherwise int) int {
	for i, s := range c.sites {
		if strings.Contains(s.metrics(c.key), "recoup_leader 1\n") {
			return i
		}
	}
	return otherwise
}

func tail(log string) string { return log[max(0, len(log)-4000):] }
