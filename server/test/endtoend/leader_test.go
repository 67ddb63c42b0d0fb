package endtoend

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// hasty is the default policy with lives of seconds: what is parked is escalated
// after three and six, and expires after fifteen.
func hasty() string {
	return strings.NewReplacer("version: 1.0.0", "version: 1.0.1", "lasts: 7d", "lasts: 12s", "lasts: 30d", "lasts: 15s", "lasts: 90d", "lasts: 20s",
		"after: 48h, review_within: 8h", "after: 3s, review_within: 1h", "after: 7d, review_within: 4h", "after: 6s, review_within: 1h",
		"expiry_notice: 24h", "expiry_notice: 5s").Replace(string(policy.DefaultFile()))
}

// cluster is three nodes on one database, and a client that reports failures to
// whichever of them runs.
type cluster struct {
	*testing.T
	sites [3]*site
	key   string
	stop  chan struct{}
	done  sync.WaitGroup
	acked int
}

// TestLeaderKilled kills the node that leads, again and again, while failures are
// reported that live for seconds: another takes over and goes on, and nothing is
// done or notified twice. RECOUP_SOAK=1 makes it twenty times.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	rounds := 2
	switch {
	case soaking():
		rounds = 20
	case testing.Short():
		rounds = 1
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
	for range rounds {
		leader := c.leader()
		moved := c.moved()
		c.await("the leader does nothing", func() bool { return c.moved() > moved })
		if err := c.sites[leader].signal(syscall.SIGKILL); err == nil {
			t.Error("killed, it ended without an error")
		}
		next := c.leader()
		if next == leader {
			t.Fatal("the dead lead")
		}
		c.sites[leader].start()
	}
	close(c.stop)
	c.done.Wait()
	c.await("something does not end", func() bool {
		counts, err := c.client(0).Errors.Counts(t.Context())
		return err == nil && len(counts) == 0
	})
	c.verify(d)
}

// client talks to a node.
func (c *cluster) client(i int) *client.Client {
	c.Helper()
	made, err := client.New(client.Options{Server: "http://" + *c.sites[i].address.Load(), Key: c.key, Timeout: 5 * time.Second})
	if err != nil {
		c.Fatal(err)
	}
	return made
}

// report reports failures that are parked at once, until it is told to stop. What
// one node does not answer another does, under the same key.
func (c *cluster) report() {
	for n := 0; ; n++ {
		select {
		case <-c.stop:
			return
		default:
		}
		batch := make([]recoup.Report, 10)
		for i := range batch {
			batch[i] = recoup.Report{Table: workTable, EntityID: fmt.Sprintf("L-%d-%d", n, i), Code: string(fault.CodeValidationError)}
		}
		for try := 0; ; try++ {
			items, err := c.client((n+try)%3).ReportBatch(c.Context(), batch, client.IdempotencyKey(fmt.Sprint("leader ", n)), client.NoRetry())
			if err == nil {
				for _, item := range items {
					if _, err := item.Get(); err != nil {
						c.Errorf("report %d: %v", n, err)
					}
					c.acked++
				}
				break
			}
			if try > patience || retry.Sleep(c.Context(), 20*time.Millisecond) != nil {
				c.Errorf("report %d: %v", n, err)
				return
			}
		}
		if retry.Sleep(c.Context(), 200*time.Millisecond) != nil {
			return
		}
	}
}

// await looks again and again until something is so, for a minute at most.
func (c *cluster) await(otherwise string, so func() bool) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
	defer cancel()
	for !so() {
		if retry.Sleep(ctx, 50*time.Millisecond) != nil {
			for _, s := range c.sites {
				c.Logf("%s", s.log)
			}
			c.Fatal(otherwise)
		}
	}
}

// leader waits until one of the running nodes says that it leads.
func (c *cluster) leader() (found int) {
	c.Helper()
	c.await("nobody leads", func() bool {
		for i, s := range c.sites {
			if s.node != nil && strings.Contains(s.metrics(c.key), "recoup_leader 1\n") {
				found = i
				return true
			}
		}
		return false
	})
	return found
}

// metrics are those that the node tells, or nothing where none does within seconds.
func (s *site) metrics(key string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+*s.address.Load()+"/metrics", nil)
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// moved is how much the jobs have moved in all.
func (c *cluster) moved() (rows int64) {
	for i, s := range c.sites {
		if s.node == nil {
			continue
		}
		jobs, err := admin.New(c.client(i)).Jobs.List(c.Context())
		if err != nil {
			continue
		}
		for _, j := range jobs.Jobs {
			rows += j.Rows
		}
		return rows
	}
	return 0
}

// verify finds every failure that was acknowledged ended once, escalated no more
// than once to each tier, and everybody notified once of each.
func (c *cluster) verify(d database) {
	db, err := sql.Open("pgx", d.Owner)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	number := func(query string) (n int) {
		c.Helper()
		if err := db.QueryRowContext(c.Context(), query).Scan(&n); err != nil {
			c.Fatalf("%s: %v", query, err)
		}
		return n
	}
	if n := number("select count(*) from recoup.error_archive where archive_reason = 'TTL_EXPIRED'"); n != c.acked || n == 0 {
		c.Errorf("%d were acknowledged, and %d have expired", c.acked, n)
	}
	for what, query := range map[string]string{
		"have not expired exactly once": `select count(*) from (select error_id from recoup.error_history group by 1
			having count(*) filter (where input = 'expire') <> 1) x`,
		"were escalated to one tier twice": `select count(*) from (select error_id, escalation_level from recoup.error_history
			where input = 'escalate' group by 1, 2 having count(*) > 1) x`,
		"escalations were not notified once": `select count(*) from (select error_id, count(*) n from recoup.error_history where input = 'escalate' group by 1) h
			full join (select error_id, count(*) n from recoup.outbox where kind = 'ESCALATED' group by 1) o using (error_id) where h.n is distinct from o.n`,
		"ends more or less than archived errors were notified of": `select (select count(*) from recoup.error_archive)
			- (select coalesce(sum(coalesce((body->>'count')::int, 1)), 0) from recoup.outbox where kind = 'UNBLOCKED')`,
		"were notified of twice": `select count(*) from (select error_id, kind, recipient from recoup.outbox where error_id is not null
			group by 1, 2, 3 having count(*) > 1) x`,
	} {
		if n := number(query); n != 0 {
			c.Errorf("%d %s", n, what)
		}
	}
	c.Logf("%d errors, %d escalations, %d terms", c.acked, number("select count(*) from recoup.error_history where input = 'escalate'"),
		number("select number from recoup.leader where name = 'clockwork'"))
}
