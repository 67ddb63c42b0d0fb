package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// callers is how many clients talk to a server at once.
const callers = 4

// served is a running node on PostgreSQL, reached over HTTP on loopback.
type served struct {
	*testing.B
	url, key string
	http     *http.Client
	owner    *pgx.Conn
	app      string // the address of its database
}

// serve starts a node as recoup serve does.
func serve(b *testing.B) *served {
	b.Helper()
	owner, database := pgtest.Migrated(b)
	s := &served{B: b, app: database, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	conn, err := pgx.Connect(b.Context(), owner)
	must(b, err)
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	s.owner = conn
	node := live.Start(b, app.Options{Database: database, Limits: httpapi.Limits{PerKey: 1 << 20}})
	s.url, s.key = node.URL, node.Key
	return s
}

// post sends a body and reads the answer.
func (s *served) post(path, media string, body []byte, into any) {
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+path, bytes.NewReader(body))
	must(s, err)
	request.Header.Set("Content-Type", media)
	request.Header.Set("Prefer", "respond-sync, return=minimal")
	s.send(request, into)
}

func (s *served) send(request *http.Request, into any) {
	request.Header.Set("Authorization", "Bearer "+s.key)
	response, err := s.http.Do(request)
	if err != nil {
		s.Error(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		s.Errorf("%s %s: %d %.300s %v", request.Method, request.URL.Path, response.StatusCode, answer, err)
		return
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			s.Error(err)
		}
	}
}

// BenchmarkIngest sends batches of 5,000 events as NDJSON over HTTP, four clients
// at once, each answered when its events are durable, and beside them the same
// rows by bare COPY over four connections. Target: 0.8.
func BenchmarkIngest(b *testing.B) {
	s, c := serve(b), contest{B: b}
	execute(b, s.owner, `create schema bare; create table bare.error_event (like recoup.error_event including all) partition by range (ts);
		create table bare.error_event_all partition of bare.error_event default`)
	pool, err := pgxpool.New(b.Context(), s.owner.Config().ConnString())
	must(b, err)
	b.Cleanup(pool.Close)
	for b.Loop() {
		b.StopTimer()
		bodies, rows := make([][]byte, callers), make([][]store.Event, callers)
		for i := range bodies {
			at := time.Now().Add(-time.Minute)
			bodies[i] = ndjson(b, conformance.SampleEvents(eventBatch, at, time.Microsecond))
			rows[i] = conformance.SampleEvents(eventBatch, at, time.Microsecond)
		}
		b.StartTimer()
		c.round(callers*eventBatch, just(func() {
			together(func(i int) {
				var got recoup.EventsAccepted
				s.post("/v1/events", "application/x-ndjson", bodies[i], &got)
				if got.Accepted != eventBatch || !got.Durable {
					b.Errorf("accepted %+v", got)
				}
			})
		}), just(func() {
			together(func(i int) {
				conn, err := pool.Acquire(b.Context())
				if err != nil {
					b.Error(err)
					return
				}
				defer conn.Release()
				copyBare(b, conn.Conn(), rows[i])
			})
		}))
	}
	c.report("events", "copy")
}

// ndjson writes events as a client sends them: with the tenant's name, which the
// server hashes.
func ndjson(b *testing.B, events []store.Event) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	for i := range events {
		e := events[i].Event
		if events[i].TenantHash != "" {
			e.Tenant = "acme"
		}
		must(b, encoder.Encode(e))
	}
	return body.Bytes()
}

func together(run func(i int)) { crowd(callers, run) }

func crowd(callers int, run func(i int)) {
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { run(i) })
	}
	all.Wait()
}

const (
	gateChecks = 2000
	many       = 40 // clients of a gate that is busy
)

// BenchmarkGate asks for an entity's gate over HTTP, beside a handler that does
// nothing (target: 0.6 of it), with four clients and with forty, and beside the same
// query by bare pgx over four connections. The handler is bare net/http, without
// routes, keys, limits, logs and metrics, called by the same clients with the same
// headers; a check has all of these on top, and a way to the database and back.
func BenchmarkGate(b *testing.B) {
	s := serve(b)
	for i := range 200 {
		body := fmt.Sprintf(`{"table":%q,"entity_id":"CO-%d","code":"NETWORK_TIMEOUT"}`, dol, i%100)
		s.post("/v1/errors", "application/json", []byte(body), nil)
	}
	asking := func(callers int, url func(n int) string) turn {
		return just(func() {
			crowd(callers, func(i int) {
				for n := range gateChecks / callers {
					request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url(n+i), nil)
					must(b, err)
					s.send(request, nil)
				}
			})
		})
	}
	gate := func(n int) string { return fmt.Sprintf("%s/v1/promotion/CO-%d", s.url, n%200) }
	for _, callers := range []int{callers, many} {
		b.Run(fmt.Sprintf("handler/clients=%d", callers), func(b *testing.B) {
			empty := emptyServer(b)
			c := contest{B: b}
			for b.Loop() {
				c.round(gateChecks, asking(callers, gate), asking(callers, func(int) string { return empty }))
			}
			c.report("checks", "empty")
		})
	}
	b.Run("pgx", func(b *testing.B) {
		pool, err := pgxpool.New(b.Context(), s.app)
		must(b, err)
		b.Cleanup(pool.Close)
		c := contest{B: b}
		for b.Loop() {
			c.round(gateChecks, asking(callers, gate), just(func() {
				together(func(i int) {
					for n := range gateChecks / callers {
						rows, err := pool.Query(b.Context(), "select error_id, table_name, code, state, created_at, expires_at from recoup.error where entity_id = $1 and blocking order by created_at, error_id limit 101", fmt.Sprintf("CO-%d", (n+i)%200))
						must(b, err)
						for rows.Next() {
						}
						must(b, rows.Err())
					}
				})
			}))
		}
		c.report("checks", "pgx")
	})
}

// emptyServer answers every request with an empty object.
func emptyServer(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}\n"))
	}), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String() + "/"
}

// BenchmarkService claims and acknowledges errors over HTTP in batches of 500, with
// history, guards and counts, beside River working jobs that do nothing on the same
// server. Target: 1.0 times River.
func BenchmarkService(b *testing.B) {
	s := serve(b)
	rival, c := newRiver(b, s.owner.Config()), contest{B: b}
	serial := 0
	for b.Loop() {
		for range workRounds {
			serial = s.load(backlog, serial)
			rival.load()
			c.round(backlog, just(s.drain), rival.drain)
		}
	}
	c.report("errors", "river")
}

// load reports errors and waits until they are due.
func (s *served) load(count, serial int) int {
	for first := 0; first < count; first += 1000 {
		var batch recoup.ReportBatch
		for range min(1000, count-first) {
			serial++
			batch.Reports = append(batch.Reports, recoup.Report{Table: dol, EntityID: fmt.Sprintf("CO-20240828-%06d", serial), Code: "NETWORK_TIMEOUT"})
		}
		body, err := json.Marshal(batch)
		must(s, err)
		s.post("/v1/errors/batch", "application/json", body, nil)
	}
	time.Sleep(2100 * time.Millisecond) // the first retry is due after two seconds
	return serial
}

// drain claims and acknowledges until nothing is due.
func (s *served) drain() {
	together(func(i int) {
		for {
			var claimed recoup.RetryClaimed
			body := fmt.Appendf(nil, `{"worker":"w%d","limit":%d}`, i, workBatch)
			s.post("/v1/retries/claim", "application/json", body, &claimed)
			if len(claimed.Errors) == 0 {
				return
			}
			s.acknowledge(claimed.Errors)
		}
	})
}

func (s *served) acknowledge(leased []recoup.Error) {
	batch := recoup.RetryResultBatch{Results: make([]recoup.RetryResult, len(leased))}
	for i := range leased {
		batch.Results[i] = recoup.RetryResult{ErrorID: leased[i].ID, LeaseToken: leased[i].LeaseToken, Outcome: "succeed"}
	}
	body, err := json.Marshal(batch)
	must(s, err)
	s.post("/v1/retries/results", "application/json", body, nil)
}
