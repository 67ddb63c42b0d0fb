package admin_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// id makes ids that can be told apart.
func id(n byte) recoup.ID { return recoup.ID{15: n} }

// server answers requests by handlers, in turn, and remembers them.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	handlers []http.HandlerFunc
	requests []string
	keys     []string
}

func serve(t *testing.T, handlers ...http.HandlerFunc) *server {
	s := &server{handlers: handlers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSuffix(r.Method+" "+r.URL.RequestURI()+" "+string(body), " "))
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	h := s.handlers[0]
	if len(s.handlers) > 1 {
		s.handlers = s.handlers[1:]
	}
	s.mu.Unlock()
	h(w, r)
}

func (s *server) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

func (s *server) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{
		Server: s.URL, HTTP: s.Client(),
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// reply answers everything with one body.
func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// cut drops the connection after the server has done the work.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// Every call asks for exactly what the API documents.
func TestRequests(t *testing.T) {
	t.Parallel()
	const k1 = "/v1/keys/00000000-0000-0000-0000-000000000001"
	page := client.Page{Cursor: "c", Limit: 5}
	type ctx = context.Context
	for want, call := range map[string]func(*client.Client, ctx) (any, error){
		`GET /v1/tables`:  func(c *client.Client, x ctx) (any, error) { return admin.New(c).System.Tables(x) },
		`GET /v1/workers`: func(c *client.Client, x ctx) (any, error) { return admin.New(c).System.Workers(x) },
		`GET /v1/policy`:  func(c *client.Client, x ctx) (any, error) { return admin.New(c).Policy.Current(x) },
		`GET /v1/policy/versions?limit=5`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Policy.Versions(x, client.Page{Limit: 5})
		},
		`POST /v1/policy/plan {"text":"a: b"}`: func(c *client.Client, x ctx) (any, error) { return admin.New(c).Policy.Plan(x, "a: b") },
		`PUT /v1/policy {"text":"a"}`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Policy.Apply(x, wire.PolicyChange{Text: "a"})
		},
		`POST /v1/keys {"name":"n","role":"reader"}`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Keys.Create(x, wire.NewKey{Name: "n", Role: "reader"})
		},
		`GET /v1/keys?cursor=c&limit=5`:            func(c *client.Client, x ctx) (any, error) { return admin.New(c).Keys.List(x, page) },
		`POST ` + k1 + `/revoke {"reason":"lost"}`: func(c *client.Client, x ctx) (any, error) { return admin.New(c).Keys.Revoke(x, id(1), "lost") },
		`POST ` + k1 + `/rotate {"hours":2}`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Keys.Rotate(x, id(1), wire.KeyRotation{Hours: new(2)})
		},
		`GET /v1/adoptions`: func(c *client.Client, x ctx) (any, error) { return admin.New(c).AdoptedTables.List(x) },
		`GET /v1/jobs`:      func(c *client.Client, x ctx) (any, error) { return admin.New(c).Jobs.List(x) },
		`GET /v1/doctor`:    func(c *client.Client, x ctx) (any, error) { return admin.New(c).System.Doctor(x) },
		`GET /v1/receivers`: func(c *client.Client, x ctx) (any, error) { return admin.New(c).Notifications.Receivers(x) },
		`POST /v1/jobs/ttl/run {"dry_run":true}`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Jobs.Run(x, "ttl", wire.JobRunRequest{DryRun: true})
		},
		`GET /v1/notices?cursor=c&kind=ALERT&limit=5&state=GIVEN_UP&to=t`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Notifications.List(x, wire.NoticeFilter{State: wire.NoticeGivenUp, To: "t", Kind: wire.NoticeAlert}, page)
		},
		`POST /v1/notices/resend {"ids":["00000000-0000-0000-0000-000000000001"],"reason":"why"}`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Notifications.Resend(x, wire.NoticeResend{IDs: []recoup.ID{id(1)}, Reason: "why"})
		},
		`GET /v1/channels`:                func(c *client.Client, x ctx) (any, error) { return admin.New(c).Notifications.Channels(x) },
		`POST /v1/channels/a%2Fb/test {}`: func(c *client.Client, x ctx) (any, error) { return admin.New(c).Notifications.TestChannel(x, "a/b") },
		`GET /v1/audit?act=key.create&actor=ada&target=k`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Audit.List(x, wire.AuditFilter{Actor: "ada", Act: "key.create", Target: "k"}, client.Page{})
		},
		`GET /v1/alerts?open=true&rule=r&scope=s&state=FIRING`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Alerts.List(x, wire.AlertFilter{State: wire.AlertFiring, Open: true, Rule: "r", Scope: "s"}, client.Page{})
		},
		`GET /v1/silences?cursor=c&limit=5&past=true`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Alerts.Silences(x, true, page)
		},
		`POST /v1/providers/a%2Fb/switch {"to":"m","reason":"why"}`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).Providers.Switch(x, "a/b", wire.ProviderSwitch{To: "m", Reason: "why"})
		},
		`GET /v1/ids/0123ab?kind=keys`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).System.FindIDs(x, recoup.KeyIDs, "0123ab")
		},
		`GET /v1/promotion/CO%2F1?unknown=true`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).System.EntityUnknown(x, "CO/1")
		},
		`GET /v1/series?code=c&hours=2&hub=h&table=t`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).System.Series(x, wire.SeriesFilter{Table: "t", Hub: "h", Code: "c", Hours: 2})
		},
		`POST /v1/tenant-keys/a%2Fb/delete {"reason":"why"}`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).TenantKeys.Delete(x, "a/b", "why")
		},
		`POST /v1/payload-keys/wrap {"reason":"why"}`: func(c *client.Client, x ctx) (any, error) {
			return admin.New(c).PayloadKeys.Wrap(x, "why")
		},
	} {
		s := serve(t, reply(`{"items":[{}]}`))
		if _, err := call(s.client(t), t.Context()); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if got := s.all()[0]; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// The iterators ask their own lists.
func TestLists(t *testing.T) {
	t.Parallel()
	const row = `{"entries":[{}],"notices":[{}],"alerts":[{}],"views":[{}]}`
	for want, walk := range map[string]func(*client.Client) int{
		"GET /v1/notices?limit=1000": func(c *client.Client) int {
			return count(admin.New(c).Notifications.All(t.Context(), wire.NoticeFilter{}))
		},
		"GET /v1/audit?limit=1000":  func(c *client.Client) int { return count(admin.New(c).Audit.All(t.Context(), wire.AuditFilter{})) },
		"GET /v1/alerts?limit=1000": func(c *client.Client) int { return count(admin.New(c).Alerts.All(t.Context(), wire.AlertFilter{})) },
		"GET /v1/views?limit=1000":  func(c *client.Client) int { return count(admin.New(c).Views.All(t.Context())) },
	} {
		s := serve(t, reply(row))
		if n := walk(s.client(t)); n != 1 || s.all()[0] != want {
			t.Errorf("got %d from %s, want %s", n, s.all()[0], want)
		}
	}
}

func count[T any](rows func(func(T, error) bool)) (n int) {
	for _, err := range rows {
		if err == nil {
			n++
		}
	}
	return n
}

// What the server would do again is not repeated where it may have been done.
func TestOnce(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(admin.Calls, context.Context) error{
		"create a key": func(a admin.Calls, ctx context.Context) error {
			_, err := a.Keys.Create(ctx, wire.NewKey{Name: "n", Role: "reader"})
			return err
		},
		"rotate a key": func(a admin.Calls, ctx context.Context) error {
			_, err := a.Keys.Rotate(ctx, id(1), wire.KeyRotation{})
			return err
		},
		"silence": func(a admin.Calls, ctx context.Context) error {
			_, err := a.Alerts.Silence(ctx, wire.NewSilence{All: true})
			return err
		},
		"rotate a payload key": func(a admin.Calls, ctx context.Context) error {
			_, err := a.PayloadKeys.Rotate(ctx, "why")
			return err
		},
		"rotate a tenant key": func(a admin.Calls, ctx context.Context) error {
			_, err := a.TenantKeys.Rotate(ctx, "why")
			return err
		},
		"delete a view": func(a admin.Calls, ctx context.Context) error {
			_, err := a.Views.Delete(ctx, id(1))
			return err
		},
		"test a channel": func(a admin.Calls, ctx context.Context) error {
			_, err := a.Notifications.TestChannel(ctx, "c")
			return err
		},
	} {
		s := serve(t, reply(`{}`), cut, reply(`{}`)) // the first opens the connection
		calls := admin.New(s.client(t))
		if err := call(calls, t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := call(calls, t.Context()); !errors.Is(err, fault.New(fault.CodeConnectionReset, "")) || len(s.all()) != 2 {
			t.Errorf("%s: got %v after %d requests", name, err, len(s.all()))
		}
		if s.keys[0] != "" {
			t.Errorf("%s: has an idempotency key that the server does not honour", name)
		}
	}
}

// What can be repeated is repeated.
func TestRepeated(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(admin.Calls, context.Context) error{
		"read":   func(a admin.Calls, ctx context.Context) error { _, err := a.Policy.Current(ctx); return err },
		"revoke": func(a admin.Calls, ctx context.Context) error { _, err := a.Keys.Revoke(ctx, id(1), "why"); return err },
		"run": func(a admin.Calls, ctx context.Context) error {
			_, err := a.Jobs.Run(ctx, "ttl", wire.JobRunRequest{})
			return err
		},
		"apply": func(a admin.Calls, ctx context.Context) error {
			_, err := a.Policy.Apply(ctx, wire.PolicyChange{})
			return err
		},
	} {
		s := serve(t, cut, reply(`{}`))
		if err := call(admin.New(s.client(t)), t.Context()); err != nil || len(s.all()) != 2 {
			t.Errorf("%s: got %v after %d requests", name, err, len(s.all()))
		}
	}
}

// stream answers with a stream of events.
func stream(events string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events)
	}
}

// A stream yields its events, ends without an error where the server ends it, and with one where
// it cannot be read.
func TestStream(t *testing.T) {
	t.Parallel()
	const hello = "event: hello\ndata: {\"event\":\"hello\",\"version\":\"1\"}\n\n: idle\n\n"
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		stop    bool
		events  int
		failure recoup.Code
	}{
		"ended":     {handler: stream(hello + hello), events: 2},
		"stopped":   {handler: stream(hello + hello), stop: true, events: 1},
		"broken":    {handler: stream(hello + "data: {\n\n"), events: 1, failure: fault.CodeSchemaInvalid},
		"no stream": {handler: reply(`{}`), failure: fault.CodeConfigurationError},
		"refused": {handler: func(w http.ResponseWriter, r *http.Request) {
			fault.Write(w, r, fault.New(fault.CodeInvalidAPIKey, ""))
		}, failure: fault.CodeInvalidAPIKey},
	} {
		s := serve(t, row.handler)
		events, ends := 0, 0
		var failure error
		for e, err := range admin.New(s.client(t)).System.Stream(t.Context()) {
			if err != nil {
				failure = err
				ends++
				continue
			}
			if events++; e.Event != wire.StreamHello || row.stop {
				break
			}
		}
		wrong := failure != nil
		if row.failure != "" {
			wrong = !errors.Is(failure, fault.New(row.failure, "")) || ends != 1
		}
		if wrong || events != row.events || len(s.all()) != 1 {
			t.Errorf("%s: %d events, then %v, by %d requests", name, events, failure, len(s.all()))
		}
	}
}
