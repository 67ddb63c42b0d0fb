package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/examples/renderdb/api"
)

// documentation is where spec 001 keeps the pages of its codes.
const documentation = "https://docs.render-for-db.com/errors/"

// clock stands still until a test moves it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// set moves the clock to a time as RFC 3339 writes it.
func (c *clock) set(t *testing.T, text string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = at
}

// service is a RenderDB of a test's own, with what it reports.
type service struct {
	*clock
	t        *testing.T
	handler  http.Handler
	failures *api.Failures
	logs     bytes.Buffer

	mu     sync.Mutex
	events []recoup.Event
}

// The keys of the tests. The last expired when the one of spec 001 did.
const (
	writer  = "rdb_writer00000000000000000000000000"
	second  = "rdb_second00000000000000000000000000" // a writer's too
	reader  = "rdb_reader00000000000000000000000000"
	expired = "rdb_expired0000000000000000000000000"
)

// start runs a service at the time of spec 001's examples; change, if given,
// adjusts its options.
func start(t *testing.T, change func(*api.Options)) *service {
	t.Helper()
	s := &service{t: t, clock: &clock{}}
	s.set(t, "2024-08-28T15:30:00Z")
	s.failures = api.NewFailures(s.Now)
	issued := time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)
	o := api.Options{
		Now: s.Now, Random: rand.NewChaCha8([32]byte{1}), Failures: s.failures, Documentation: documentation,
		Keys: []api.Key{
			{Secret: writer, Account: "acme", Role: api.Writer, Issued: issued},
			{Secret: second, Account: "other", Role: api.Writer, Issued: issued},
			{Secret: reader, Account: "reports", Role: api.Reader, Issued: issued},
			{Secret: expired, Account: "old", Role: api.Writer, Issued: time.Date(2024, 5, 3, 0, 0, 0, 0, time.UTC)},
		},
		Limits: api.Limits{PerMinute: 1000, PerDay: 10_000, InFlight: 64, Verifications: 16},
		Logger: slog.New(slog.NewJSONHandler(&s.logs, nil)),
		Emit: func(e recoup.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
	}
	if change != nil {
		change(&o)
	}
	handler, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.handler = handler
	return s
}

// request is one request of a test. What is left out is what most of them need.
type request struct {
	line    string // method and path
	key     string // the writer's if empty
	body    string
	headers map[string]string
}

func (s *service) send(r request) *httptest.ResponseRecorder {
	s.t.Helper()
	method, path, _ := strings.Cut(r.line, " ")
	in := httptest.NewRequest(method, path, strings.NewReader(r.body))
	if r.key == "" {
		r.key = writer
	}
	in.Header.Set("Authorization", "Bearer "+r.key)
	in.Header.Set("Content-Type", "application/json")
	for name, value := range r.headers {
		in.Header.Set(name, value)
	}
	out := httptest.NewRecorder()
	s.handler.ServeHTTP(out, in)
	return out
}

// must sends a request that has to succeed, and returns its answer.
func (s *service) must(line, body string) map[string]any {
	s.t.Helper()
	out := s.send(request{line: line, body: body})
	if out.Code >= 300 {
		s.t.Fatalf("%s answers %d %s", line, out.Code, out.Body)
	}
	return members(s.t, out.Body.Bytes())
}

// members decodes a JSON object.
func members(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return object
}

// company creates a company and returns its uid.
func (s *service) company(name string) string {
	s.t.Helper()
	uid, _ := s.must("POST /companies", `{"name": "`+name+`", "website": "https://`+name+`.example"}`)["company_uid"].(string)
	return uid
}

// person creates a person, of a company if one is given, and returns the uid.
func (s *service) person(company string) string {
	s.t.Helper()
	uid, _ := s.must("POST /people", `{"name": "Ann", "email": "ann@example.com", "company_uid": "`+company+`"}`)["person_uid"].(string)
	return uid
}
