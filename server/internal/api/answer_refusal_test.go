package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// journal is a log that a test reads.
type journal struct{ node.Log }

// lines returns the lines that were written since it was last asked.
func (j *journal) lines() []string {
	text := strings.TrimSpace(j.Take())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func logged(j *journal) option {
	return func(_ *world, o *app.Options) { o.Logger = slog.New(slog.NewTextHandler(j, nil)) }
}

// Requests that are turned away are logged as a count, at most every ten seconds
// for each code, and none by itself.
func TestRefusalsAreSampled(t *testing.T) {
	t.Parallel()
	var j journal
	var s stuck
	w := newWorld(t, stick(&s), logged(&j), limits(httpapi.Limits{InFlight: 1, PerKey: 50}))
	running := w.later("operator", "POST", "/v1/errors", recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"})
	<-s.arrived
	j.lines()
	for range 100 {
		w.do("", http.MethodGet, "/v1/policy", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
		w.do("ingest", http.MethodGet, "/v1/policy", nil).failed(http.StatusServiceUnavailable, fault.CodeServiceOverloaded)
	}
	w.do("ingest", http.MethodGet, "/v1/policy", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
	first := strings.Join(j.lines(), "\n")
	for _, want := range []string{
		`level=WARN msg="requests refused" code=INVALID_API_KEY count=1 endpoint="GET /v1/policy"`,
		`level=WARN msg="requests refused" code=SERVICE_OVERLOADED count=1 endpoint="GET /v1/policy" key=rdb_`,
		`code=RATE_LIMIT_EXCEEDED count=1`,
	} {
		if !strings.Contains(first, want) {
			t.Errorf("%s\ndoes not say %s", first, want)
		}
	}
	if n := strings.Count(first, "\n") + 1; n != 3 {
		t.Errorf("%d lines for 201 requests:\n%s", n, first)
	}
	w.wait(11 * time.Second)
	w.do("", http.MethodGet, "/v1/policy", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
	if then := j.lines(); len(then) != 1 || !strings.Contains(then[0], "code=INVALID_API_KEY count=100 ") {
		t.Errorf("then it says %q", then)
	}
	close(s.release)
	(<-running).ok()
}

// What a key may not do, or sends too much of, is logged as a count for that key.
func TestForbiddenRequestsAreSampled(t *testing.T) {
	t.Parallel()
	var j journal
	w := newWorld(t, logged(&j))
	large := recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT", Message: strings.Repeat("x", 70<<10)}
	j.lines()
	for range 100 {
		w.do("reader", http.MethodPost, "/v1/errors", nil).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
		w.do("ingest", http.MethodPost, "/v1/errors", large).failed(http.StatusRequestEntityTooLarge, fault.CodePayloadTooLarge)
	}
	w.do("worker", http.MethodGet, "/v1/keys", nil).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	if lines := j.lines(); len(lines) != 3 || !strings.Contains(lines[2], `code=INSUFFICIENT_PERMISSIONS count=1 endpoint="GET /v1/keys" key=rdb_`) || !strings.Contains(lines[2], "{RequestID:req_") {
		t.Errorf("%d lines for 201 requests of three kinds:\n%s", len(lines), strings.Join(lines[:min(len(lines), 5)], "\n"))
	}
}

// lazy answers the first ping and holds the others.
type lazy struct {
	app.Store
	pinged chan struct{}
	once   sync.Once
}

func (l *lazy) Ping(ctx context.Context) error {
	first := false
	l.once.Do(func() { first = true })
	if first {
		return l.Store.Ping(ctx)
	}
	close(l.pinged)
	<-ctx.Done()
	return ctx.Err()
}

// A node that turns requests away still says that it is ready, and that it is
// overloaded; it does not wait for a database that is busy.
func TestReadyUnderOverload(t *testing.T) {
	t.Parallel()
	l := &lazy{pinged: make(chan struct{})}
	var s stuck
	w := newWorld(t, stick(&s), wrapped(func(under app.Store) app.Store { l.Store = under; return l }), limits(httpapi.Limits{InFlight: 1}))
	says := func(want string) {
		t.Helper()
		var out struct{ Status string }
		if w.do("", http.MethodGet, "/readyz", nil).ok(&out); out.Status != want {
			t.Errorf("it says %s", out.Status)
		}
	}
	says("ready")
	running := w.later("operator", "POST", "/v1/errors", recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT"})
	<-s.arrived
	says("overloaded") // from what was known: the ping does not come back
	<-l.pinged
	close(s.release)
	(<-running).ok()
}
