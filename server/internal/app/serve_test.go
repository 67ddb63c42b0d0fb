package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	testnode "github.com/recoup-dev/recoup/server/internal/test/node"
)

// node is a node that serves on a port of its own.
type node struct {
	*testing.T
	*live.Node
	claimed chan struct{} // a claim has looked for work
}

// noticing signals when somebody claims.
type noticing struct {
	app.Store
	claimed chan struct{}
}

func (s *noticing) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	defer func() { s.claimed <- struct{}{} }()
	return s.Store.ClaimDue(ctx, claim)
}

func openStore(t *testing.T) app.Store {
	t.Helper()
	s, err := app.OpenStore(t.Context(), "sqlite:"+sqlitetest.File(t, t.TempDir()), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts a node with short timeouts.
func serve(t *testing.T, grace time.Duration) *node {
	t.Helper()
	claimed := make(chan struct{}, 100)
	return &node{t, live.On(t, &noticing{openStore(t), claimed}, app.Options{
		Grace: grace, Timeouts: app.Timeouts{Header: 500 * time.Millisecond, Read: time.Second, Idle: 500 * time.Millisecond},
	}), claimed}
}

// dial opens a connection and sends something.
func (n *node) dial(text string) *net.TCPConn {
	n.Helper()
	conn, err := net.Dial("tcp", n.Address())
	if err != nil {
		n.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		n.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// rest returns all that comes until the node closes the connection. It hangs if
// the node does not. A reset ends it as well.
func rest(conn *net.TCPConn) string {
	got, _ := io.ReadAll(conn)
	_ = conn.Close()
	return string(got)
}

func (n *node) request(method, path, headers, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s\r\n%s", method, path, n.Address(), n.Key, headers, body)
}

// Clients that are slow, stop in the middle or send nonsense get an answer or lose
// their connection, do nothing, and leave nothing behind. It does not run beside
// other tests: it counts goroutines.
func TestRudeClients(t *testing.T) { //nolint:paralleltest // it counts what is left behind
	before := runtime.NumGoroutine()
	n := serve(t, 5*time.Second)
	report := `{"table":"outreach.dol_errors","entity_id":"CO-1","code":"TIMEOUT"}`
	media := "Content-Type: application/json\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n", len(report))
	const cut = `"error_code":"(TIMEOUT|REQUEST_CANCELLED)"` // whichever is noticed first
	var talks sync.WaitGroup
	for name, row := range map[string]struct {
		text  string
		close bool
		want  string // a regular expression
	}{
		"says nothing":             {"", false, ""},
		"half a header":            {"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ", false, ""},
		"half a body":              {n.request("POST", "/v1/errors", media+length, report[:10]), false, cut},
		"half a body, then closes": {n.request("POST", "/v1/errors", media+length, report[:10]), true, cut},
		"half a chunk":             {n.request("POST", "/v1/errors", media+"Transfer-Encoding: chunked\r\n", "10\r\n{"), true, cut},
		"no chunk":                 {n.request("POST", "/v1/errors", media+"Transfer-Encoding: chunked\r\n", "zz\r\n"), true, cut},
		"stays without asking":     {n.request("GET", "/healthz", "", ""), false, `"status":"ok"`},
		"does not listen for more": {n.request("GET", "/v1/policy", "Connection: close\r\n", ""), true, "^HTTP/1.1 "},
		"no HTTP":                  {"\x16\x03\x01\x02\x00\x01\x00", true, "400 Bad Request"},
		"a long header":            {n.request("GET", "/healthz", "X-Long: "+strings.Repeat("a", 64<<10)+"\r\n", ""), false, "431 Request Header Fields Too Large"},
		"many headers":             {n.request("GET", "/healthz", strings.Repeat("X-A: b\r\n", 10_000), ""), false, "431 Request Header Fields Too Large"},
		"a NUL in a header":        {n.request("GET", "/healthz", "X-A: b\x00c\r\n", ""), false, "400 Bad Request"},
		"a folded header":          {n.request("GET", "/v1/policy", "X-A: b\r\n X-B: c\r\nConnection: close\r\n", ""), false, ""},
		"two keys":                 {n.request("GET", "/v1/policy", "Authorization: Bearer "+n.Key+"\r\nConnection: close\r\n", ""), false, `"error_code":"INVALID_API_KEY"`},
		"two lengths":              {n.request("POST", "/v1/errors", media+length+"Content-Length: 5\r\n", report), false, "400 Bad Request"},
		"a negative length":        {n.request("POST", "/v1/errors", media+"Content-Length: -5\r\n", report), false, "400 Bad Request"},
		"no host":                  {"GET /healthz HTTP/1.1\r\n\r\n", false, "400 Bad Request"},
		"a request id of its own":  {n.request("GET", "/v1/none", "X-Request-Id: <script>\r\nConnection: close\r\n", ""), false, `"request_id":"req_`},
		"a large body":             {n.request("POST", "/v1/errors", media+"Content-Length: 99999999\r\nConnection: close\r\n", strings.Repeat(" ", 70<<10)), false, `"error_code":"(PAYLOAD_TOO_LARGE|TIMEOUT)"`},
	} {
		conn := n.dial(row.text)
		if row.close {
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		talks.Go(func() {
			if got := rest(conn); !regexp.MustCompile(row.want).MatchString(got) || strings.Contains(got, "<script>") {
				t.Errorf("%s: got %.400q, want %q", name, got, row.want)
			}
		})
	}
	talks.Wait()
	r := httptest.NewRequest(http.MethodGet, "/v1/errors", nil)
	r.Header.Set("Authorization", "Bearer "+n.Key)
	rec := httptest.NewRecorder()
	if n.Handler().ServeHTTP(rec, r); rec.Body.String() != `{"errors":[]}`+"\n" {
		t.Errorf("something was stored: %s", rec.Body)
	}
	n.Stop()
	awaitGoroutines(t, before)
}

// awaitGoroutines waits until no more goroutines are left than there were. The runtime has
// no signal for that, so it yields until it is so; the test's own deadline ends it.
func awaitGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline, ok := t.Deadline(); runtime.NumGoroutine() > before; runtime.Gosched() {
		if ok && time.Until(deadline) < 5*time.Second {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines are left of %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// A stop lets what runs finish: a claim that waits comes back empty at once, and no
// new connection is taken.
func TestStop(t *testing.T) {
	t.Parallel()
	n := serve(t, 30*time.Second)
	body := `{"worker":"w","wait_seconds":60}`
	conn := n.dial(n.request("POST", "/v1/retries/claim", fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body)), body))
	<-n.claimed
	n.Cancel()
	if got := rest(conn); !strings.Contains(got, `{"errors":[],"request_id":`) {
		t.Errorf("the claim was answered %q", got)
	}
	n.Stop()
	if conn, err := net.Dial("tcp", n.Address()); err == nil {
		_ = conn.Close()
		t.Error("a node that has stopped takes connections")
	}
}

// stuck never finishes a gate by itself.
type stuck struct {
	app.Store
	arrived chan struct{}
}

func (s *stuck) Blocking(ctx context.Context, _ []string, _ int) ([][]store.Blocker, error) {
	close(s.arrived)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestStopWithoutPatience cuts off a request that takes longer than the grace. It was not
// acknowledged, so the stop succeeds; the log has it.
func TestStopWithoutPatience(t *testing.T) {
	t.Parallel()
	slow := &stuck{openStore(t), make(chan struct{})}
	n := &node{T: t, Node: &live.Node{}}
	var err error
	logs := &testnode.Log{}
	n.Node.Node, err = app.OpenOn(t.Context(), slow, app.Options{Listen: "127.0.0.1:0", Grace: time.Second / 4, Logger: slog.New(slog.NewTextHandler(logs, nil)), FirstKey: func(secret string) error { n.Key = secret; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Serve(ctx) }()
	conn := n.dial(n.request("GET", "/v1/promotion/CO-1", "", ""))
	<-slow.arrived
	stop()
	if err := <-done; err != nil || !strings.Contains(logs.String(), "requests were cut off") {
		t.Errorf("the stop ended with %v\n%s", err, logs)
	}
	rest(conn)
}

// A node that cannot be put together leaves nothing open.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // nobody connects to it
	file := sqlitetest.File(t, t.TempDir())
	if _, err := app.Open(t.Context(), app.Options{Database: "sqlite:" + file, Listen: taken.Addr().String()}); err == nil {
		t.Error("two listen on one port")
	}
	if _, err := app.Open(t.Context(), app.Options{Database: "sqlite:" + file, Listen: "0.0.0.0:0", Demo: true}); !errors.Is(err, app.ErrDemoBeyondLoopback) {
		t.Errorf("a demo for everybody: %v", err)
	}
	n, err := app.Open(t.Context(), app.Options{Database: "sqlite:" + file, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
