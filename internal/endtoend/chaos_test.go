package endtoend

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"recoup"
	"recoup/client"
	"recoup/internal/netfault"
	"recoup/internal/policy"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/chaos"
	"recoup/internal/test/live"
	"recoup/retry"
)

// TestChaosPostgres lets clients of all kinds work on three nodes of one database,
// takes nodes, sessions, connections and the database away by a seeded plan, heals
// everything, lets it come to rest, and has the checker hold the database to what
// clients saw. RECOUP_SEED repeats a plan, RECOUP_CHAOS_SLICE says for how long
// faults happen, RECOUP_CHAOS_KILLS and RECOUP_CHAOS_RESTARTS ask for as many slices
// as it takes.
func TestChaosPostgres(t *testing.T) {
	t.Parallel()
	g := goals{"RECOUP_CHAOS_KILLS": chaos.Counts.Kills, "RECOUP_CHAOS_RESTARTS": func(c chaos.Counts) int { return c[chaos.AbortDatabase] }}
	inSlices(t, g, func(t *testing.T, seed uint64) chaos.Counts {
		server := pgtest.Start(t, pgtest.Options{Durable: pgtest.Durable()})
		owner, nodes := server.Migrated(t)
		pgtest.HoldToClock(t, owner)
		c := newChaos(t, seed, database{Kind: "postgres", Owner: owner, Nodes: nodes})
		c.server = server
		for range 3 {
			through, proxy := netfault.Postgres(t, nodes)
			c.add(through, proxy)
		}
		return c.run(chaos.KillNode, chaos.KillNode, chaos.KillNode, chaos.KillLeader, chaos.PauseNode, chaos.PauseLeader, chaos.RestartNode,
			chaos.AbortDatabase, chaos.EndSessions, chaos.CutNode, chaos.StallNode, chaos.MuteDatabase)
	})
}

// TestChaosSQLite does the same to one node on a file.
func TestChaosSQLite(t *testing.T) {
	t.Parallel()
	inSlices(t, goals{"RECOUP_CHAOS_SQLITE_KILLS": chaos.Counts.Kills}, func(t *testing.T, seed uint64) chaos.Counts {
		d := live.SQLite(t)
		c := newChaos(t, seed, d)
		c.add(d.Nodes, nil)
		return c.run(chaos.KillNode, chaos.KillNode, chaos.PauseNode, chaos.RestartNode, chaos.FillDisk)
	})
}

// sliceLength is for how long faults happen in one slice: the one figure that decides
// what chaos costs. RECOUP_CHAOS_SLICE is another.
const sliceLength = time.Minute

// goals are how often something has to happen, by the variable that says so.
type goals map[string]func(chaos.Counts) int

// inSlices runs slices with seeds that follow each other, until as much has happened
// as the environment asks for, or one fails.
func inSlices(t *testing.T, g goals, slice func(*testing.T, uint64) chaos.Counts) {
	t.Helper()
	total, first := chaos.Counts{}, seed()
	for i := uint64(0); ; i++ {
		t.Run(fmt.Sprint("seed ", first+i), func(t *testing.T) { total.Add(slice(t, first+i)) })
		t.Logf("after %d slices: %d nodes killed; %s", i+1, total.Kills(), total)
		done := true
		for name, count := range g {
			wanted, _ := strconv.Atoi(os.Getenv(name)) // none: one slice is enough
			done = done && count(total) >= wanted
		}
		if done || t.Failed() {
			return
		}
	}
}

// length is for how long faults happen.
func (c *chaosRun) length() time.Duration {
	c.Helper()
	length, err := time.ParseDuration(cmp.Or(os.Getenv("RECOUP_CHAOS_SLICE"), sliceLength.String()))
	if err != nil {
		c.Fatal(err)
	}
	if testing.Short() {
		return length / 4
	}
	return length
}

// chaosRun is nodes, what is between them and their database, and who works with
// them.
type chaosRun struct {
	*testing.T
	seed     uint64
	d        database
	server   *pgtest.Server // that takes writes; nil: there is none
	standby  *pgtest.Server // nil: there is none
	db       *chaos.Database
	sites    []*site
	proxies  []*netfault.Proxy
	key      string
	hook     *mailbox
	file     string
	workload *chaos.Workload
	now      func() time.Time
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
func (c *chaosRun) add(address string, proxy *netfault.Proxy) {
	s := newSite(c.T, database{Kind: c.d.Kind, Owner: c.d.Owner, Nodes: address})
	s.env = []string{"RECOUP_CHANNELS=hook", "RECOUP_CHANNEL_HOOK_KIND=webhook", "RECOUP_CHANNEL_HOOK_URL=" + c.hook.URL, "RECOUP_CHANNEL_HOOK_SECRET=0123456789abcdef0123456789abcdef"}
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

// run is one slice: it begins, goes wrong, is healed, comes to rest and is checked.
func (c *chaosRun) run(kinds ...chaos.FaultKind) chaos.Counts {
	c.Logf("seed %d, history in %s", c.seed, c.file)
	out, err := os.Create(c.file)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	c.begin()
	history := chaos.NewHistory(out)
	c.workload = &chaos.Workload{History: history, Seed: c.seed, Pace: 150 * time.Millisecond, Now: c.now, IDs: recoup.NewIDSource(rand.Reader)}
	for _, s := range c.sites {
		c.workload.Nodes = append(c.workload.Nodes, c.client(s))
	}
	begin, end := context.WithCancel(c.Context())
	ended := make(chan struct{})
	go func() { c.workload.Run(begin, c.Context()); close(ended) }()
	plan := chaos.NewPlan(c.seed, len(c.sites), kinds...)
	for until := c.now().Add(c.length()); c.now().Before(until); {
		fault := plan.Next()
		at := c.now()
		c.inflict(fault)
		history.Record(fault.Of(at, c.now()))
		_ = retry.Sleep(c.Context(), fault.Rest)
	}
	if c.planted != nil {
		c.planted(c.Context())
	}
	end()
	<-ended
	c.settle()
	c.check(history)
	return plan.Counts()
}

// begin starts all nodes with the policy.
func (c *chaosRun) begin() {
	c.Helper()
	for i, s := range c.sites {
		s.start()
		if i == 0 {
			c.key = s.key()
			c.open()
			if err := c.db.LogTerms(c.Context()); err != nil {
				c.Fatal(err)
			}
			if _, err := c.client(s).ApplyPolicy(c.Context(), client.PolicyChange{Text: agitated(), Reason: "a test"}); err != nil {
				c.Fatal(err)
			}
		}
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
