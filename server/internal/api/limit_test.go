package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A key that asks too often waits, and no other does.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limits(httpapi.Limits{PerKey: 5}))
	for range 10 { // a burst of twice the rate
		w.do("reader", http.MethodGet, "/v1/policy", nil).ok()
	}
	e := w.do("reader", http.MethodGet, "/v1/policy", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
	if e.RetryAfter != time.Second || e.Details["limit"] != 5.0 || e.Details["window_sec"] != 1.0 {
		t.Errorf("got %+v", e)
	}
	w.do("worker", http.MethodGet, "/v1/policy", nil).ok()
	w.wait(e.RetryAfter)
	for range 5 {
		w.do("reader", http.MethodGet, "/v1/policy", nil).ok()
	}
	w.do("reader", http.MethodGet, "/v1/policy", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
	w.wait(2 * time.Minute)
	w.do("reader", http.MethodGet, "/v1/policy", nil).ok()
}

// A clock that is set back by an hour turns nobody away.
func TestRateLimitOutlivesABackwardClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limits(httpapi.Limits{PerKey: 5}))
	for range 10 {
		w.do("reader", http.MethodGet, "/v1/policy", nil).ok()
	}
	w.wait(-time.Hour)
	for range 10 {
		w.do("reader", http.MethodGet, "/v1/policy", nil).ok()
	}
	w.do("reader", http.MethodGet, "/v1/policy", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
}

// stuck holds reports, gates and the park queue until the test lets go, or their time is up.
type stuck struct {
	app.Store
	arrived chan string
	release chan struct{}
}

func stick(s *stuck) option {
	s.arrived, s.release = make(chan string, 100), make(chan struct{})
	return wrapped(func(under app.Store) app.Store { s.Store = under; return s })
}

func (s *stuck) hold(ctx context.Context, what string) error {
	s.arrived <- what
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stuck) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	if err := s.hold(ctx, "report"); err != nil {
		return nil, err
	}
	return s.Store.Report(ctx, now, reports)
}

func (s *stuck) Blocking(ctx context.Context, entities []string, limit int) ([][]store.Blocker, error) {
	if err := s.hold(ctx, "gate"); err != nil {
		return nil, err
	}
	return s.Store.Blocking(ctx, entities, limit)
}

func (s *stuck) ParkQueue(ctx context.Context, tables []string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	if err := s.hold(ctx, "park queue"); err != nil {
		return nil, sqldb.Cursor{}, err
	}
	return s.Store.ParkQueue(ctx, tables, p)
}

// later runs a request beside the test and returns what it came to.
func (w *world) later(key, method, path string, body any) <-chan *answer {
	got, r := make(chan *answer, 1), w.request(key, method, path, body)
	go func() { got <- w.send(r) }()
	return got
}

// Overload turns away what can come again, and keeps the gate and the operators'
// calls alive; when they too are too many, the node still says that it lives.
func TestOverload(t *testing.T) {
	t.Parallel()
	var s stuck
	w := newWorld(t, stick(&s), limits(httpapi.Limits{InFlight: 4, Reserved: 2}))
	report := recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"}
	var running []<-chan *answer
	for _, key := range []string{"ingest", "worker", "operator", "ingest" + onlyDOL} {
		running = append(running, w.later(key, "POST", "/v1/errors", report))
		<-s.arrived
	}

	e := w.do("ingest", http.MethodPost, "/v1/errors", report).failed(http.StatusServiceUnavailable, fault.CodeServiceOverloaded)
	if e.RetryAfter != time.Second {
		t.Errorf("retry_after is %v", e.RetryAfter)
	}
	w.do("ingest", http.MethodPost, "/v1/events", recoup.Event{Code: "TIMEOUT", Service: "s"}).failed(http.StatusServiceUnavailable, fault.CodeServiceOverloaded)
	w.do("reader", http.MethodGet, "/v1/errors", nil).ok()
	w.do("worker", http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w"}).ok()
	w.do("admin", http.MethodPost, "/v1/promotions", recoup.Promotion{EntityID: "CO-2", Phase: "p"}).ok()

	for key, path := range map[string]string{"reader": "/v1/promotion/CO-1", "admin": "/v1/errors/parked"} {
		running = append(running, w.later(key, "GET", path, nil))
		<-s.arrived
	}
	w.do("operator"+onlyDOL, http.MethodGet, "/v1/errors", nil).failed(http.StatusServiceUnavailable, fault.CodeServiceOverloaded)
	w.do("", http.MethodGet, "/healthz", nil).ok()
	w.do("", http.MethodGet, "/readyz", nil).ok()

	close(s.release)
	for _, r := range running {
		(<-r).ok()
	}
	w.do("ingest", http.MethodPost, "/v1/errors", report).ok()
}

// looker records which tables claims look at.
type looker struct {
	app.Store
	tables chan string
}

func (l *looker) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	l.tables <- claim.Tables[0]
	return l.Store.ClaimDue(ctx, claim)
}

func (l *looker) await(table string) {
	for <-l.tables != table {
	}
}

// No key has more than a quarter of the slots, of those that wait and of the bytes
// under way: its own requests are turned away, and those of others are not.
func TestShares(t *testing.T) {
	t.Parallel()
	var s stuck
	n := &looker{tables: make(chan string, 1000)}
	w := newWorld(t, stick(&s), wrapped(func(under app.Store) app.Store { n.Store = under; return n }), limits(httpapi.Limits{InFlight: 8, Reserved: 8, Waiting: 8, Memory: 1 << 20}))
	report := recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"}
	running := []<-chan *answer{w.later("worker", "POST", "/v1/errors", report), w.later("worker", "POST", "/v1/errors", report)}
	<-s.arrived
	<-s.arrived
	tooMuch := func(got *answer, limit float64) {
		t.Helper()
		if e := got.failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded); e.Details["limit"] != limit || e.RetryAfter != time.Second {
			t.Errorf("got %+v", e)
		}
	}
	tooMuch(w.do("worker", http.MethodPost, "/v1/errors", report), 2)
	w.do("worker", http.MethodGet, "/v1/errors", nil).ok() // of the reserve it has a share too
	running = append(running, w.later("operator", "POST", "/v1/errors", report))
	<-s.arrived

	gone, leave := context.WithCancel(t.Context())
	polls := make(chan *answer, 2)
	for _, table := range []string{dol, people} {
		r := w.request("worker", http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w", Tables: []string{table}, WaitSeconds: 60})
		go func() { polls <- w.send(r.WithContext(gone)) }()
		n.await(table)
	}
	tooMuch(w.do("worker", http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w"}), 2)
	w.do("worker"+onlyDOL, http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w"}).ok()

	large := `{"events":[` + strings.Repeat(" ", 200<<10) + `]}`
	tooMuch(w.do("ingest", http.MethodPost, "/v1/events", large), 256<<10)
	w.do("ingest", http.MethodPost, "/v1/events", recoup.Event{Code: "TIMEOUT", Service: "s"}).ok()

	leave()
	close(s.release)
	for range 2 { // gone while it waited, or while it looked once more
		if got := <-polls; got.Code != http.StatusOK && got.Code != 499 {
			t.Errorf("got %d %s", got.Code, got.Body)
		}
	}
	for _, r := range running {
		(<-r).ok()
	}
	for range 9 { // what was taken was given back
		w.do("worker", http.MethodPost, "/v1/errors", report).ok()
		w.do("worker", http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w"}).ok()
	}
}

// A request that takes too long ends, and so does the work for it.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	var s stuck
	w := newWorld(t, stick(&s), limits(httpapi.Limits{Time: time.Millisecond}))
	e := w.do("admin", http.MethodPost, "/v1/errors", recoup.Report{Table: dol, EntityID: "CO-1", Code: "NETWORK_TIMEOUT"})
	if e.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", e.Code, e.Body)
	}
}

// Claims that wait are bounded by themselves.
func TestTooManyWait(t *testing.T) {
	t.Parallel()
	n := newNotifier()
	w := newWorld(t, n.option(), limits(httpapi.Limits{Waiting: 1, InFlight: 1}))
	e := w.report(dol, "CO-1")
	w.post("/v1/errors/"+e.ID.String()+"/park", recoup.Act{Reason: "wait"}).ok()
	first := w.later("worker", "POST", "/v1/retries/claim", recoup.RetryClaim{Worker: "w", WaitSeconds: 60})
	<-n.claims
	w.do("worker", http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w"}).failed(http.StatusServiceUnavailable, fault.CodeServiceOverloaded)
	w.report(dol, "CO-2") // who waits is in nobody's way
	w.post("/v1/errors/"+e.ID.String()+"/unpark", recoup.Act{Reason: "go on"}).ok()
	(<-first).ok()
}

// crowd makes looking keys up take as long as the test likes.
type crowd struct {
	app.Store
	arrived chan struct{}
	release chan struct{}
}

func (s *crowd) KeyByHash(ctx context.Context, hash [32]byte, known bool) (wire.Key, error) {
	key, err := s.Store.KeyByHash(ctx, hash, known)
	if err != nil {
		s.arrived <- struct{}{}
		<-s.release
	}
	return key, err
}

// Whoever makes up keys does not take the database from those who have one that
// was seen lately.
func TestMadeUpKeys(t *testing.T) {
	t.Parallel()
	s := &crowd{arrived: make(chan struct{}, httpapi.MaxLookups), release: make(chan struct{})}
	w := newWorld(t, wrapped(func(under app.Store) app.Store { s.Store = under; return s }))
	w.do("reader", http.MethodGet, "/v1/policy", nil).ok()
	var running []<-chan *answer
	for i := range httpapi.MaxLookups {
		r := w.request("", http.MethodGet, "/v1/policy", nil, "Authorization", "Bearer rdb_"+fmt.Sprintf("%032d", i))
		got := make(chan *answer, 1)
		go func() { got <- w.send(r) }()
		running = append(running, got)
	}
	for range httpapi.MaxLookups {
		<-s.arrived
	}
	w.do("worker", http.MethodGet, "/v1/policy", nil).failed(http.StatusServiceUnavailable, fault.CodeServiceOverloaded)
	w.do("reader", http.MethodGet, "/v1/policy", nil).ok()
	w.wait(time.Minute) // and those who have waited longer are looked up beside them
	w.do("reader", http.MethodGet, "/v1/policy", nil).ok()
	close(s.release)
	for _, r := range running {
		(<-r).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
	}
	w.do("worker", http.MethodGet, "/v1/policy", nil).ok()
}
