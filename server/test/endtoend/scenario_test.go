package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// The scenarios of /conformance, which clients in every language must pass against the
// real program. A scenario is a list of steps: some are the world's, which this file
// carries out, the others are the client's, which a driver in its language does.

type scenario struct {
	Name   string `json:"name"`
	Client struct {
		TimeoutMS int `json:"timeout_ms,omitempty"`
	} `json:"client"`
	Steps []step `json:"steps"`
}

// step is one thing that happens, and what is expected of it. The README of
// /conformance says what each means.
type step struct {
	Do     string            `json:"do"`
	Expect *expectation      `json:"expect,omitempty"`
	Save   map[string]string `json:"save,omitempty"`

	With           json.RawMessage `json:"with,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
	Entity         string          `json:"entity,omitempty"`
	Count          int             `json:"count,omitempty"`
	WithinMS       int             `json:"within_ms,omitempty"`
	Meanwhile      []step          `json:"meanwhile,omitempty"`

	On      string            `json:"on,omitempty"`
	How     string            `json:"how,omitempty"`
	Times   int               `json:"times,omitempty"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Call    string            `json:"call,omitempty"`
}

type expectation struct {
	Answer      any               `json:"answer,omitempty"`
	Error       any               `json:"error,omitempty"`
	Undelivered int               `json:"undelivered,omitempty"`
	Waits       *[]any            `json:"waits,omitempty"` // milliseconds, or two between which they must be
	Count       int               `json:"count,omitempty"`
	Same        []string          `json:"same,omitempty"`
	Last        map[string]string `json:"last,omitempty"`
}

// outcome is how a step of the client ended.
type outcome struct {
	Answer      any       `json:"answer,omitempty"`
	Error       any       `json:"error,omitempty"`
	Undelivered int       `json:"undelivered,omitempty"`
	Waits       []float64 `json:"-"`
}

// driver does the steps of a client. While it does one, wait is called with every
// pause that the client makes between attempts, which lasts until wait returns.
type driver interface {
	do(s step, wait func(ms float64)) outcome
}

// TestConformance runs every scenario with every client; where there is time, on every
// kind of database.
func TestConformance(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../conformance/*.json")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d scenarios: %v", len(files), err)
	}
	kinds := map[string]func(testing.TB) database{"sqlite": live.SQLite}
	if soaking() {
		kinds["postgres"], kinds["pgbouncer"] = live.Postgres, live.Pooled
	}
	for language, start := range map[string]func(*testing.T, setting) driver{"go": newGoDriver, "typescript": newNodeDriver} {
		for kind, open := range kinds {
			for _, file := range files {
				t.Run(strings.Join([]string{language, kind, strings.TrimSuffix(filepath.Base(file), ".json")}, "/"), func(t *testing.T) {
					t.Parallel()
					play(t, open(t), readScenario(t, file), start)
				})
			}
		}
	}
}

func readScenario(t *testing.T, file string) (s scenario) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var named struct {
		scenario
		About string `json:"about"`
	}
	if err := d.Decode(&named); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return named.scenario
}

// setting is what a client is told.
type setting struct {
	Server    string `json:"server"`
	Key       string `json:"key"`
	TimeoutMS int    `json:"timeout_ms,omitempty"`
}

// theatre is where a scenario is played.
type theatre struct {
	*testing.T
	site   *site
	proxy  *faultProxy
	client driver
	saved  map[string]string
}

func play(t *testing.T, d database, s scenario, start func(*testing.T, setting) driver) {
	t.Helper()
	site := newSite(t, d)
	site.start()
	p := newFaultProxy(t, func() string { return *site.address.Load() })
	st := &theatre{T: t, site: site, proxy: p, saved: map[string]string{}}
	st.client = start(t, setting{p.url, site.key(), s.Client.TimeoutMS})
	for i, step := range s.Steps {
		if st.take(fmt.Sprintf("step %d, %s", i+1, step.Do), step); t.Failed() {
			return
		}
	}
}

// take does one step and looks at what came of it.
func (s *theatre) take(at string, st step) {
	s.Helper()
	s.fill(&st)
	var got outcome
	switch st.Do {
	case "fault":
		s.proxy.add(st)
	case "heal":
		s.proxy.heal()
	case "kill":
		_ = s.site.signal(syscall.SIGKILL) // says that it was killed
	case "start":
		s.site.start()
	case "seen":
		s.seen(at, st)
		return
	case "ask":
		got = s.ask(at, st)
	default:
		got = s.client.do(st, func(ms float64) {
			got.Waits = append(got.Waits, ms)
			for i, other := range st.Meanwhile {
				s.take(fmt.Sprintf("%s, meanwhile %d", at, i+1), other)
			}
			st.Meanwhile = nil
		}).after(got.Waits)
	}
	if st.Expect != nil {
		s.judge(at, st.Expect, got)
	}
	for name, path := range st.Save {
		s.saved[name] = s.find(at, got, path)
	}
}

func (o outcome) after(waits []float64) outcome {
	o.Waits = waits
	return o
}

// fill puts what was saved in the place of its name.
func (s *theatre) fill(st *step) {
	s.Helper()
	text, err := json.Marshal(st)
	if err != nil {
		s.Fatal(err)
	}
	for name, value := range s.saved {
		text = bytes.ReplaceAll(text, []byte("$"+name), []byte(value))
	}
	*st = step{}
	if err := json.Unmarshal(text, st); err != nil {
		s.Fatal(err)
	}
}

// find follows a path of names into an outcome.
func (s *theatre) find(at string, got outcome, path string) string {
	s.Helper()
	value := plainJSON(s.T, got)
	for name := range strings.SplitSeq(path, ".") {
		o, _ := value.(map[string]any)
		value = o[name]
	}
	text, ok := value.(string)
	if !ok {
		s.Fatalf("%s: there is no %s in %v", at, path, got)
	}
	return text
}

// ask calls the server itself, as an administrator.
func (s *theatre) ask(at string, st step) (got outcome) {
	s.Helper()
	method, path, _ := strings.Cut(st.Call, " ")
	reply := s.site.ask(method, path, string(st.Body))
	if err := json.Unmarshal([]byte(reply.body), &got.Answer); err != nil || reply.status >= http.StatusBadRequest {
		s.Fatalf("%s: %s is answered with %d %s", at, st.Call, reply.status, reply.body)
	}
	return got
}

// seen looks at the requests that came by.
func (s *theatre) seen(at string, st step) {
	s.Helper()
	requests := s.proxy.requests(st.On)
	if n := len(requests); n == 0 || st.Expect.Count > 0 && n != st.Expect.Count {
		s.Fatalf("%s: %d requests, want %d", at, n, st.Expect.Count)
	}
	last := requests[len(requests)-1]
	for _, name := range st.Expect.Same {
		for _, r := range requests {
			if r.Get(name) == "" || r.Get(name) != last.Get(name) {
				s.Errorf("%s: a request has the %s %q, another %q", at, name, r.Get(name), last.Get(name))
			}
		}
	}
	for name, want := range st.Expect.Last {
		if got := last.Get(name); got != want {
			s.Errorf("%s: %s is %q, want %q", at, name, got, want)
		}
	}
}

// scenarioPatience is how long one step of a client may take before the test gives up
// on it: longer than any of them does.
const scenarioPatience = time.Minute
