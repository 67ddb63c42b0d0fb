package endtoend

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
	"github.com/recoup-dev/recoup/server/test/chaos"
)

// TestChaosPostgres lets clients of all kinds work on three nodes of one database,
// takes nodes, sessions, connections and the database away by a seeded plan, heals
// everything, lets it come to rest, and has the checker hold the database to what
// clients saw. RECOUP_CHAOS_KILLS and RECOUP_CHAOS_RESTARTS ask for as many slices as it
// takes.
func TestChaosPostgres(t *testing.T) {
	t.Parallel()
	r := regime{
		mixed: chaos.Mix{chaos.KillNode: 3, chaos.KillLeader: 1, chaos.KillTwo: 1, chaos.PauseNode: 1, chaos.PauseLeader: 1, chaos.RestartNode: 1, chaos.AbortDatabase: 1,
			chaos.DatabaseAway: 1, chaos.KillBereft: 1, chaos.JumpForward: 1, chaos.JumpBack: 1, chaos.EndSessions: 1, chaos.CutNode: 1, chaos.StallNode: 1, chaos.MuteDatabase: 1},
		dense: chaos.Mix{chaos.KillNode: 4, chaos.KillTwo: 4, chaos.KillLeader: 2, chaos.AbortDatabase: 2},
		rest:  400 * time.Millisecond,
		goals: map[string]func(chaos.Counts) int{"RECOUP_CHAOS_KILLS": chaos.Counts.Kills, "RECOUP_CHAOS_RESTARTS": chaos.Counts.Restarts},
	}
	inSlices(t, r, func(t *testing.T, seed uint64) *chaosRun { return onPostgres(t, seed, nil) })
}

// onPostgres is three nodes of a database, each behind a proxy of its own, and of a bus,
// if there is one.
func onPostgres(t *testing.T, seed uint64, b *chaosBus) *chaosRun {
	t.Helper()
	server := pgtest.Start(t, pgtest.Options{Durable: pgtest.Durable()})
	owner, nodes := server.Migrated(t)
	return onServer(t, seed, server, database{Kind: "postgres", Owner: owner, Nodes: nodes}, b)
}

func onServer(t *testing.T, seed uint64, server *pgtest.Server, d database, b *chaosBus) *chaosRun {
	t.Helper()
	pgtest.HoldToClock(t, d.Owner)
	c := newChaos(t, seed, d)
	c.server, c.bus = server, b
	for range 3 {
		through, proxy := faultproxy.Postgres(t, d.Nodes)
		c.add(through, proxy)
	}
	return c
}

// TestChaosSQLite does the same to one node on a file.
func TestChaosSQLite(t *testing.T) {
	t.Parallel()
	r := regime{
		mixed: chaos.Mix{chaos.KillNode: 2, chaos.PauseNode: 1, chaos.RestartNode: 1, chaos.FillDisk: 1},
		dense: chaos.Mix{chaos.KillNode: 9, chaos.FillDisk: 1},
		rest:  400 * time.Millisecond,
		goals: map[string]func(chaos.Counts) int{"RECOUP_CHAOS_SQLITE_KILLS": chaos.Counts.Kills},
	}
	inSlices(t, r, func(t *testing.T, seed uint64) *chaosRun {
		d := live.SQLite(t)
		c := newChaos(t, seed, d)
		c.add(d.Nodes, nil)
		return c
	})
}

// chaosRun is nodes, what is between them and their database, and who works with
// them.
type chaosRun struct {
	*testing.T
	seed     uint64
	d        database
	server   *pgtest.Server // that takes writes; nil: there is none
	standby  *pgtest.Server // nil: there is none
	bus      *chaosBus      // nil: there is none
	mix      chaos.Mix
	lasts    time.Duration // for how long faults happen
	rest     time.Duration // after a fault, at most
	shift    time.Duration // of the database's clock
	peak     time.Duration // the most that it was
	db       *chaos.Database
	sites    []*site
	proxies  []*faultproxy.Proxy
	key      string
	hook     *mailbox
	file     string
	workload *chaos.Workload
	now      func() time.Time
	upgrade  func()                // of the schema, while the first node runs; nil: there is none
	known    string                // a rule that an older version breaks
	planted  func(context.Context) // plants a bug, if there is one
	expected string                // the rule that must find it
}

func newChaos(t *testing.T, seed uint64, d database) *chaosRun {
	t.Helper()
	c := &chaosRun{T: t, seed: seed, d: d, hook: newMailbox(t, seed), now: time.Now}
	folder, err := os.MkdirTemp("", "recoup-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	c.file = filepath.Join(folder, fmt.Sprintf("history-%d.ndjson", seed))
	t.Cleanup(func() {
		if !t.Failed() && os.Getenv("RECOUP_CHAOS_KEEP") == "" {
			_ = os.RemoveAll(folder)
		}
	})
	return c
}

// add makes a node's place.
func (c *chaosRun) add(address string, proxy *faultproxy.Proxy) {
	s := newSite(c.T, database{Kind: c.d.Kind, Owner: c.d.Owner, Nodes: address})
	s.env = []string{"RECOUP_CHANNELS=hook", "RECOUP_CHANNEL_HOOK_KIND=webhook", "RECOUP_CHANNEL_HOOK_URL=" + c.hook.URL, "RECOUP_CHANNEL_HOOK_SECRET=0123456789abcdef0123456789abcdef", "RECOUP_CHANNEL_HOOK_PUBLIC_ONLY=false"}
	if c.bus != nil {
		s.flags = c.bus.join()
	}
	c.sites, c.proxies = append(c.sites, s), append(c.proxies, proxy)
}

// agitated is the default policy with lives of seconds, but for people's errors,
// which stay; every notice goes to the hook, by itself.
func agitated() string {
	return strings.NewReplacer("version: 1.0.0", "version: 1.0.1", "lasts: 7d", "lasts: 12s", "lasts: 30d", "lasts: 30s",
		"after: 48h, review_within: 8h", "after: 5s, review_within: 1h", "after: 7d, review_within: 4h", "after: 10s, review_within: 1h",
		"expiry_notice: 24h", "expiry_notice: 5s", "overrides:\n      ttl: MEDIUM\n", "overrides:\n      ttl: LONG\n",
		"- {channel: log}\n  digests:\n    PARKED: 15m\n", "- {channel: hook}\n  digests: {}\n", "base: 2s, multiplier: 2", "base: 500ms, multiplier: 1.2").Replace(string(policy.DefaultFile()))
}

// sliceResult is what a slice leaves for the sum of all.
type sliceResult struct {
	counts chaos.Counts
	felt   []chaos.Measured
}

// run is one slice: it begins, goes wrong, is healed, comes to rest and is checked.
func (c *chaosRun) run() sliceResult {
	c.Logf("seed %d, history in %s", c.seed, c.file)
	out, err := os.Create(c.file)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	watch := c.now()
	lap := func() (passed time.Duration) {
		passed, watch = c.now().Sub(watch).Round(100*time.Millisecond), c.now()
		return passed
	}
	c.begin()
	history := chaos.NewHistory(out)
	c.employ(history)
	begin, end := context.WithCancel(c.Context())
	ended := make(chan struct{})
	go func() { c.workload.Run(begin, c.Context()); close(ended) }()
	began := lap()
	plan := chaos.NewPlan(c.seed, len(c.sites), c.mix, c.rest)
	for until := c.now().Add(c.lasts); c.now().Before(until); {
		fault := plan.Next()
		at := c.now()
		c.inflict(fault)
		history.Record(fault.Of(at, c.now()))
		_ = retry.Sleep(c.Context(), fault.Rest)
	}
	if c.planted != nil {
		c.planted(c.Context())
	}
	troubled := lap()
	end()
	<-ended
	finished := lap()
	c.settle()
	settled := lap()
	felt := c.check(history)
	c.Logf("it took %s to begin, %s of faults, %s to finish what was begun, %s to come to rest, %s to check", began, troubled, finished, settled, lap())
	return sliceResult{plan.Counts(), felt}
}

// employ makes the clients.
func (c *chaosRun) employ(history *chaos.History) {
	c.Helper()
	c.workload = &chaos.Workload{History: history, Seed: c.seed, Pace: 150 * time.Millisecond, Senders: 1, Batch: 20, Now: c.now, IDs: recoup.NewIDSource(rand.Reader)}
	if c.bus != nil {
		c.workload.Senders, c.workload.Batch = 6, 100
	}
	for _, s := range c.sites {
		c.workload.Nodes = append(c.workload.Nodes, c.client(s))
	}
}

// begin starts all nodes with the policy.
func (c *chaosRun) begin() {
	c.Helper()
	first, others := c.sites[0], c.sites[1:]
	first.start()
	c.key = first.key()
	c.open()
	if err := c.db.LogTerms(c.Context()); err != nil {
		c.Fatal(err)
	}
	if _, err := admin.New(c.client(first)).Policy.Apply(c.Context(), wire.PolicyChange{Text: agitated(), Reason: "a test"}); err != nil {
		c.Fatal(err)
	}
	if c.upgrade != nil {
		c.upgrade()
	}
	c.start(others...)
}

// start starts nodes, all at the same time.
func (c *chaosRun) start(list ...*site) {
	c.Helper()
	for _, s := range list {
		s.launch()
	}
	for _, s := range list {
		s.listens()
	}
}

// open opens the database beside the nodes.
func (c *chaosRun) open() {
	c.Helper()
	driver, address := "sqlite", "file:"+strings.TrimPrefix(c.d.Owner, "sqlite:")+"?_pragma=busy_timeout(10000)"
	if c.d.Kind == "postgres" {
		driver, address = "pgx", c.d.Owner
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = db.Close() })
	c.db = &chaos.Database{DB: db, Postgres: c.d.Kind == "postgres"}
}
