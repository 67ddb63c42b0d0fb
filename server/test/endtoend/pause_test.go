package endtoend

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestLeaderPaused stops the process of the node that leads (SIGSTOP) for longer than its
// term, while failures are reported that live for seconds. Another takes over, what the
// sleeper had locked is set free by the server, and when it wakes (SIGCONT) it does nothing: it
// does not lead, the term is still the other's, and nothing was done or notified twice.
// RECOUP_SOAK=1 makes it ten times.
func TestLeaderPaused(t *testing.T) {
	t.Parallel()
	rounds := 1
	if soaking() {
		rounds = 10
	}
	d := live.Postgres(t)
	c := &cluster{T: t, stop: make(chan struct{})}
	for i := range c.sites {
		c.sites[i] = newSite(t, d)
		c.sites[i].start()
		if i == 0 {
			c.key = c.sites[0].key()
			if _, err := admin.New(c.client(0)).Policy.Apply(t.Context(), wire.PolicyChange{Text: hasty(), Reason: "a test"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.done.Go(c.report)
	clock := time.Now
	for range rounds {
		leader := c.leader()
		moved := c.moved()
		c.await("the leader does nothing", func() bool { return c.moved() > moved })
		asleep := c.sites[leader]
		if err := asleep.node.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		began, others := clock(), &cluster{T: t, sites: c.sites, key: c.key}
		others.sites[leader] = &site{T: t, log: &text{}} // has no node: nobody asks the sleeper
		next := others.leader()
		t.Logf("another leads after %v", clock().Sub(began).Round(100*time.Millisecond))
		moved = others.moved()
		others.await("the next leader does nothing", func() bool { return others.moved() > moved })
		before := c.term(d)
		if err := asleep.node.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		c.await("the sleeper does not wake", func() bool { return strings.Contains(asleep.metrics(c.key), "recoup_leader 0\n") })
		moved = others.moved()
		others.await("the next leader has stopped", func() bool { return others.moved() > moved })
		if after := c.term(d); after != before || c.leader() != next {
			t.Errorf("the sleeper leads again: term %d, before it woke %d", after, before)
		}
	}
	close(c.stop)
	c.done.Wait()
	c.await("something does not end", func() bool {
		counts, err := c.client(0).Errors.Counts(t.Context())
		return err == nil && len(counts) == 0
	})
	c.verify(d)
}

// term is the number of the present one.
func (c *cluster) term(d database) (number int64) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), d.Owner)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(c.Context())) }()
	if err := conn.QueryRow(c.Context(), "select number from recoup.leader where name = 'clockwork'").Scan(&number); err != nil {
		c.Fatal(err)
	}
	return number
}
