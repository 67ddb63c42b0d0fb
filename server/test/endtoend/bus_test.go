package endtoend

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// sender sends events as clients do that wait until they are durable, and remembers which
// were acknowledged.
type sender struct {
	*site
	ids *recoup.IDSource
	now func() time.Time

	mu    sync.Mutex
	acked []string
}

// send sends n events in one call, and returns the answer; none: there was no node.
func (s *sender) send(service string, n int) reply {
	var ids []string
	list := make([]map[string]any, n)
	for i := range list {
		ids = append(ids, s.ids.New(s.now()).String())
		list[i] = map[string]any{"event_id": ids[i], "code": "NETWORK_TIMEOUT", "service": service, "tenant": "acme"}
	}
	body, err := json.Marshal(list)
	if err != nil {
		s.Error(err)
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+*s.address.Load()+"/v1/events", strings.NewReader(string(body)))
	if err != nil {
		s.Error(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Prefer", "respond-sync")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply{}
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode == http.StatusAccepted && strings.Contains(string(text), `"durable":true`) {
		s.mu.Lock()
		s.acked = append(s.acked, ids...)
		s.mu.Unlock()
	}
	return reply{status: response.StatusCode, again: response.Header.Get("Retry-After"), body: string(text)}
}

// must sends events until they are durable.
func (s *sender) must(service string, n int) {
	s.Helper()
	bustest.Eventually(s, "durable events", func() bool { return s.send(service, n).status == http.StatusAccepted })
}

// whole waits until every event that was acknowledged is in the ledger, and wants each
// there once.
func (s *sender) whole(owner string) {
	s.Helper()
	db, err := sql.Open("pgx", owner)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := -1
	bustest.Eventually(s, "every event in the ledger", func() bool {
		if db.QueryRowContext(s.Context(), `select count(*) from unnest(string_to_array($1, ',')::uuid[]) k where not exists (select 1 from recoup.error_event where event_id = k)`, strings.Join(s.acked, ",")).Scan(&missing) != nil {
			return false
		}
		return missing == 0
	})
	var twice, counted, rows int
	if err := db.QueryRowContext(s.Context(), `select (select count(*) from (select event_id from recoup.error_event group by event_id having count(*) > 1) x),
		(select count(*) from recoup.error_event)`).Scan(&twice, &rows); err != nil || twice > 0 {
		s.Errorf("%d events are there twice: %v", twice, err)
	}
	bustest.Eventually(s, "counts that equal the rows", func() bool {
		err := db.QueryRowContext(s.Context(), `select coalesce(sum(count), 0) from recoup.error_aggregate_daily`).Scan(&counted)
		return err == nil && counted == rows
	})
}

// sample is a line of the node's metrics.
func (s *sender) sample(series string) string {
	for line := range strings.Lines(s.ask(http.MethodGet, "/metrics", "").body) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Every event that was acknowledged is in the ledger once, whoever dies: nodes, the
// database, one server of the bus or all of them. RECOUP_SOAK=1 makes it twenty rounds.
func TestBusLosesNothing(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	owner, nodes := server.Migrated(t)
	cluster := bustest.Start(t, 3)
	s := &sender{site: newSite(t, database{Kind: "postgres", Owner: owner, Nodes: nodes}), ids: recoup.NewIDSource(rand.Reader), now: time.Now}
	s.flags = []string{"--bus", cluster.URL(), "--bus-limit", "100MB", "--bus-monitor", strings.Join(cluster.Monitors(), ",")}
	bustest.Eventually(t, "the cluster", func() bool { return busReady(cluster) })
	s.start()
	rounds := 1
	if soaking() {
		rounds = 20
	}
	for range rounds {
		s.killNodes()
		s.databaseAway(server)
		s.busAway(cluster)
		cluster.Servers[0].Kill()
		s.must("one-server-less", 10)
		cluster.Servers[0].Start()
		s.whole(owner)
	}
	out := ""
	bustest.Eventually(t, "a bus that is up", func() bool {
		out = s.recoupCommand("bus", "status")
		return strings.Contains(out, "3, led by")
	})
	if strings.Contains(out, "Gap") {
		t.Errorf("the status is %s", out)
	}
	if out := s.recoupCommand("doctor"); strings.Contains(out, "sync always") || !strings.Contains(out, "checks") {
		t.Errorf("the doctor says %s", out)
	}
	if strings.Contains(s.log.String(), "acme") {
		t.Error("the log names a tenant")
	}
}

// killNodes kills the node while events are sent.
func (s *sender) killNodes() {
	s.Helper()
	bustest.Eventually(s, "the bus", func() bool { return s.sample("recoup_bus_up") == "1" })
	var senders sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		senders.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.send(fmt.Sprintf("killed-%d", i), 700) // two messages, or three
				}
			}
		})
	}
	for range 2 {
		s.mu.Lock()
		before := len(s.acked)
		s.mu.Unlock()
		bustest.Eventually(s, "acknowledgements", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.acked) >= before+3000
		})
		if err := s.signal(syscall.SIGKILL); err == nil {
			s.Error("a killed node ended well")
		}
		s.start()
	}
	close(stop)
	senders.Wait()
}

// databaseAway takes the database away: events go on, and nothing else does.
func (s *sender) databaseAway(server *pgtest.Server) {
	s.Helper()
	s.must("before", 1) // the node knows the key
	server.Abort()
	s.until("still ready without its database", s.ready, func(r reply) bool { return r.status == http.StatusServiceUnavailable })
	for range 20 {
		s.must("database-away", 10)
	}
	if got := s.ask(http.MethodGet, "/readyz?for=events", ""); got.status != http.StatusOK {
		s.Errorf("for events it is not ready: %s", got.body)
	}
	if got := s.report("AWAY"); got.status != http.StatusServiceUnavailable {
		s.Errorf("a report without a database: %d %s", got.status, got.body)
	}
	if err := server.Restart(); err != nil {
		s.Fatal(err)
	}
	s.until("not ready although the database is back", s.ready, serves)
}

// busAway takes the bus away: events go to the database.
func (s *sender) busAway(cluster *bustest.Cluster) {
	s.Helper()
	cluster.Kill()
	for range 5 {
		s.must("bus-away", 10)
	}
	bustest.Eventually(s, "direct events", func() bool {
		direct := s.sample(`recoup_bus_events_total{way="direct"}`)
		return direct != "" && direct != "0" && s.sample("recoup_bus_up") == "0"
	})
	if got := s.ready(); got.status != http.StatusOK || !strings.Contains(got.body, "the bus is away") {
		s.Errorf("without a bus: %d %s", got.status, got.body)
	}
	cluster.Restart()
	s.until("the bus does not come back", s.ready, func(r reply) bool { return !strings.Contains(r.body, "the bus is away") })
	s.must("bus-back", 10)
}

// busReady reports whether the servers know of each other.
func busReady(c *bustest.Cluster) bool {
	for _, monitor := range c.Monitors() {
		response, err := http.Get(monitor + "/healthz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return false
		}
	}
	return true
}

// A batch that the database refuses goes to quarantine after five tries, and from there
// where an operator wants it; others are not held up. A bus that is full refuses with 429.
func TestBusQuarantineAndLimit(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	owner, nodes := server.Migrated(t)
	cluster := bustest.StartWith(t, 1, "sync_interval: 1m")
	s := &sender{site: newSite(t, database{Kind: "postgres", Owner: owner, Nodes: nodes}), ids: recoup.NewIDSource(rand.Reader), now: time.Now}
	bustest.Eventually(t, "the server", func() bool { return busReady(cluster) })
	s.flags = []string{"--bus", cluster.URL()}
	if said := s.refuses(); !strings.Contains(said, "3 replicas") || !strings.Contains(said, "--bus-single") {
		t.Errorf("one server: %s", said)
	}
	s.flags = []string{"--bus", cluster.URL(), "--bus-single=true", "--bus-limit", "1MB", "--bus-monitor", cluster.Monitors()[0]}
	s.start()
	ownerSQL(t, owner, `create function public.refuse_poison() returns trigger language plpgsql as $$ begin raise exception 'poison' using errcode = '23514'; end $$;
		create trigger zz_poison before insert on recoup.error_event for each row when (new.service = 'poison') execute function public.refuse_poison()`)
	for range 2 {
		s.must("poison", 3)
	}
	s.must("good", 5)
	bustest.Eventually(t, "batches in quarantine", func() bool { return s.sample("recoup_bus_quarantined_batches") == "2" })
	if out := s.recoupCommand("bus", "quarantine", "list"); !strings.Contains(out, "CONSTRAINT_VIOLATION") {
		t.Errorf("the list is %s", out)
	}
	if out := s.recoupCommand("bus", "quarantine", "retry", "1"); !strings.Contains(out, "refuses the batch still") {
		t.Errorf("retried too early: %s", out)
	}
	if out := s.recoupCommand("doctor"); !strings.Contains(out, "2 batches") || !strings.Contains(out, "does not sync always") || !strings.Contains(out, "One replica") {
		t.Errorf("the doctor says %s", out)
	}
	ownerSQL(t, owner, "drop trigger zz_poison on recoup.error_event")
	if out := s.recoupCommand("bus", "quarantine", "retry", "1", "--reason", "mended"); !strings.Contains(out, "batch 1 written: 3 events") {
		t.Errorf("retried: %s", out)
	}
	if out := s.recoupCommand("bus", "quarantine", "drop", "2", "--reason", "a test", "--yes"); !strings.Contains(out, "batch 2 dropped: 3 events") {
		t.Errorf("dropped: %s", out)
	}
	if out := s.recoupCommand("bus", "quarantine", "list"); !strings.Contains(out, "No batch is in quarantine.") {
		t.Errorf("the list is %s", out)
	}
	if got := s.ask(http.MethodGet, "/v1/audit", ""); !strings.Contains(got.body, "bus.retry") || !strings.Contains(got.body, "bus.drop") {
		t.Errorf("the audit is %s", got.body)
	}
	if gaps := s.ask(http.MethodGet, "/v1/bus", ""); !strings.Contains(gaps.body, `"gaps":[]`) {
		t.Errorf("the status is %s", gaps.body)
	}
	s.acked = nil // of which the three are gone

	server.Abort()
	var got reply
	bustest.Eventually(t, "a full bus", func() bool {
		got = s.send("full", 500)
		return got.status == http.StatusTooManyRequests
	})
	if got.again == "" || !strings.Contains(got.body, "RATE_LIMIT_EXCEEDED") || len(s.acked) < 2000 {
		t.Errorf("after %d events: %d, Retry-After %q: %s", len(s.acked), got.status, got.again, got.body)
	}
	sealed(t, cluster)
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	s.must("after", 10)
	s.whole(owner)
}

// sealed wants no tenant's name in any message that waits on the bus.
func sealed(t *testing.T, cluster *bustest.Cluster) {
	t.Helper()
	conn, err := nats.Connect(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), bus.Stream)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for state := stream.CachedInfo().State; state.FirstSeq <= state.LastSeq; state.FirstSeq++ {
		msg, err := stream.GetMsg(t.Context(), state.FirstSeq)
		if err != nil {
			continue // it was written before
		}
		if seen++; strings.Contains(string(msg.Data), "acme") {
			t.Fatal("a message on the bus names a tenant")
		}
	}
	if seen == 0 {
		t.Error("no message was seen")
	}
}

// With SQLite there is no bus.
func TestBusNeedsPostgres(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	s := newSite(t, database{Nodes: "sqlite:" + t.TempDir() + "/recoup.db"})
	s.flags = []string{"--bus", "nats://127.0.0.1:1"}
	if said := s.refuses(); !strings.Contains(said, "--bus needs PostgreSQL") {
		t.Errorf("it says %s", said)
	}
}
