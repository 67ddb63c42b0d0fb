package notify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// received is one request that a receiver got.
type received struct {
	header http.Header
	body   []byte
}

// receiver is an endpoint that checks what it gets as strictly as the real one, and
// answers as the test says.
type receiver struct {
	*httptest.Server
	t      *testing.T
	check  func([]byte) error
	accept int // the status of success

	mu     sync.Mutex
	got    []received
	script []http.HandlerFunc // of the next requests; then all are accepted
	always http.HandlerFunc   // nil: accept
	signal chan struct{}      // one for each request
}

func newReceiver(t *testing.T, accept int, check func([]byte) error) *receiver {
	r := &receiver{t: t, check: check, accept: accept, signal: make(chan struct{}, 10_000)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP notes the request and answers it. What is wrong with it is refused as
// the real endpoint would, and fails the test.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.t.Errorf("a body could not be read: %v", err)
	}
	r.mu.Lock()
	r.got = append(r.got, received{q.Header.Clone(), body})
	answer := r.always
	if len(r.script) > 0 {
		answer, r.script = r.script[0], r.script[1:]
	}
	r.mu.Unlock()
	r.signal <- struct{}{}
	if err := r.validate(q, body); err != nil {
		r.t.Errorf("an invalid request: %v\n%s", err, body)
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	if answer != nil {
		answer(w, q)
		return
	}
	w.WriteHeader(r.accept)
}

func (r *receiver) validate(q *http.Request, body []byte) error {
	if q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/json" {
		return fmt.Errorf("%s with the type %q", q.Method, q.Header.Get("Content-Type"))
	}
	if !utf8.Valid(body) || len(body) == 0 {
		return fmt.Errorf("%d bytes that are no text", len(body))
	}
	return r.check(body)
}

// next sets what is answered to the next requests.
func (r *receiver) next(answers ...http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = append(r.script, answers...)
}

// from now on everything is answered so; nil: accepted.
func (r *receiver) now(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.always = answer
}

// forget forgets what was received and what is to be answered.
func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got, r.script, r.always = nil, nil, nil
}

// all returns what was received so far.
func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// bodies returns what was received so far, as JSON values.
func (r *receiver) bodies() (list []map[string]any) {
	r.t.Helper()
	for _, one := range r.all() {
		var v map[string]any
		if err := json.Unmarshal(one.body, &v); err != nil {
			r.t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// status answers with a status, and headers as name, value, name, value…
func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for pair := range slices.Chunk(header, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(code)
	}
}

// hang never answers: it waits until the other side has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// switched leaves HTTP, and is silent until the other side has gone.
func switched(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: silence\r\n\r\n")
	_, _ = io.Copy(io.Discard, conn)
}

// drop closes the connection in the middle of an answer.
func drop(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.Close()
}

// garbage answers with what is no HTTP.
func garbage(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = conn.Write([]byte("\x00\xff\x13garbage\r\n\r\n"))
	_ = conn.Close()
}

// flood answers with more than anybody wants to read.
func flood(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
	for range 1000 {
		if _, err := w.Write(bytes.Repeat([]byte("x"), 64<<10)); err != nil {
			return
		}
	}
}

// strict decodes JSON and refuses fields that the format does not have.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// checkSlack holds a body to Slack's format: incoming webhooks with blocks.
func checkSlack(body []byte) error {
	var m struct {
		Text   string
		Blocks []struct {
			Type     string
			Text     *struct{ Type, Text string }
			Elements []struct{ Type, Text string }
		}
	}
	if err := strict(body, &m); err != nil {
		return err
	}
	if m.Text == "" || utf8.RuneCountInString(m.Text) > 40_000 || len(m.Blocks) == 0 || len(m.Blocks) > 50 {
		return fmt.Errorf("a text of %d and %d blocks", len(m.Text), len(m.Blocks))
	}
	for i, b := range m.Blocks {
		switch {
		case b.Type == "header" && b.Text != nil && b.Text.Type == "plain_text" && inRange(b.Text.Text, 150) && b.Elements == nil:
		case b.Type == "section" && b.Text != nil && b.Text.Type == "mrkdwn" && inRange(b.Text.Text, 3000) && b.Elements == nil:
			if strings.Contains(b.Text.Text, "<!") || strings.Contains(b.Text.Text, "<@") {
				return fmt.Errorf("block %d mentions somebody", i)
			}
		case b.Type == "context" && b.Text == nil && len(b.Elements) > 0 && len(b.Elements) <= 10 && b.Elements[0].Type == "mrkdwn" && inRange(b.Elements[0].Text, 3000):
		default:
			return fmt.Errorf("block %d is not one of Slack's", i)
		}
	}
	return nil
}

func inRange(s string, most int) bool { return s != "" && utf8.RuneCountInString(s) <= most }

// pagerEvent is PagerDuty's format, Events API v2.
type pagerEvent struct {
	RoutingKey string `json:"routing_key"`
	Action     string `json:"event_action"`
	DedupKey   string `json:"dedup_key"`
	Client     string
	Payload    *struct {
		Summary, Source, Severity, Timestamp, Component, Group, Class string
		Details                                                       map[string]any `json:"custom_details"`
	}
	Links []struct{ Href, Text string }
}

const routingKey = "0123456789abcdef0123456789abcdef"

// checkPager holds a body to PagerDuty's format.
func checkPager(body []byte) error {
	var e pagerEvent
	if err := strict(body, &e); err != nil {
		return err
	}
	switch {
	case len(body) > 512<<10:
		return fmt.Errorf("%d bytes", len(body))
	case e.RoutingKey != routingKey:
		return fmt.Errorf("the key is %q", e.RoutingKey)
	case e.DedupKey == "" || len(e.DedupKey) > 255:
		return fmt.Errorf("the dedup_key is %q", e.DedupKey)
	case e.Action == "resolve" && e.Payload == nil:
		return nil
	case e.Action != "trigger" || e.Payload == nil:
		return fmt.Errorf("the action is %q", e.Action)
	case !inRange(e.Payload.Summary, 1024) || e.Payload.Source == "":
		return fmt.Errorf("summary %q, source %q", e.Payload.Summary, e.Payload.Source)
	case !slices.Contains([]string{"critical", "error", "warning", "info"}, e.Payload.Severity):
		return fmt.Errorf("the severity is %q", e.Payload.Severity)
	}
	if _, err := time.Parse(time.RFC3339, e.Payload.Timestamp); err != nil {
		return err
	}
	for _, l := range e.Links {
		if !strings.HasPrefix(l.Href, "https://") || l.Text == "" {
			return fmt.Errorf("a link to %q", l.Href)
		}
	}
	return nil
}

// checkJSON accepts any JSON object.
func checkJSON(body []byte) error {
	var v map[string]any
	return json.Unmarshal(body, &v)
}
