package endtoend

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"recoup"
	"recoup/client"
	"recoup/internal/netfault"
	"recoup/internal/test/chaos"
	"recoup/retry"
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
	if f.Kind == chaos.KillLeader || f.Kind == chaos.PauseLeader {
		f.Node = c.leading(f.Node)
	}
	s, proxy := c.sites[f.Node], c.proxies[f.Node]
	wait := func() { _ = retry.Sleep(c.Context(), f.For) }
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
	case chaos.AbortDatabase, chaos.DatabaseAway:
		c.server.Abort()
		if f.Kind == chaos.DatabaseAway {
			wait()
		}
		if err := c.server.Restart(); err != nil {
			c.Fatal(err)
		}
	case chaos.KillBereft:
		c.server.Abort()
		wait()
		c.kill(s)
		if err := c.server.Restart(); err != nil {
			c.Fatal(err)
		}
		s.start()
	case chaos.EndSessions:
		c.server.Admin(c.T, "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'recoup_app'")
	case chaos.Failover:
		c.failOver()
	case chaos.CutNode:
		proxy.Cut()
		wait()
		proxy.Heal()
	case chaos.StallNode:
		proxy.Stall(netfault.Both)
		wait()
		proxy.Heal()
	case chaos.MuteDatabase:
		proxy.Stall(netfault.Answers)
		wait()
		proxy.Drop()
		proxy.Heal()
	case chaos.FillDisk:
		limitFiles(c.T, s.node.Process.Pid, 4096)
		wait()
		limitFiles(c.T, s.node.Process.Pid, unlimited)
	default:
		if c.bus == nil || !c.bus.inflict(f, wait) {
			c.Fatalf("nobody knows how to make a %s", f.Kind)
		}
		if !f.Hasty {
			c.recover()
		}
	}
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

// mailbox is sent notifications. It keeps all of them, and says of one in eight that
// it has not, for as long as faults happen: what fails again and again is sent again after
// minutes only.
type mailbox struct {
	*httptest.Server
	mu     sync.Mutex
	random *rand.Rand
	healed bool
	got    []chaos.SentMessage
}

// heal has it take everything from now on.
func (m *mailbox) heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.healed = true
}

func newMailbox(t *testing.T, seed uint64) *mailbox {
	t.Helper()
	m := &mailbox{random: rand.New(rand.NewPCG(seed, 23))}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			ID    recoup.ID `json:"id"`
			Items []struct {
				ID recoup.ID `json:"notice_id"`
			} `json:"items"`
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable) // it was cut off
			return
		}
		if key := r.Header.Get("Idempotency-Key"); key != message.ID.String() {
			t.Errorf("the message %s has the key %s", message.ID, key)
		}
		sent := chaos.SentMessage{ID: message.ID}
		for _, item := range message.Items {
			sent.Notices = append(sent.Notices, item.ID)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.got = append(m.got, sent)
		if !m.healed && m.random.IntN(8) == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(m.Close)
	return m
}
