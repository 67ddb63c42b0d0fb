package fault

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

// bench is a middleware with a clock that moves a second at each look, and a
// record of all that its hooks and its log received.
type bench struct {
	Options
	events  []recoup.Event
	counted []Request
	log     bytes.Buffer
}

var noon = time.Date(2026, 2, 2, 12, 0, 0, 0, time.UTC)

func newBench() *bench {
	b := &bench{}
	now := noon
	b.Options = Options{
		Service: "renderdb", Region: "eu-1", ServerID: "node-3", APIVersion: "v1",
		Now:    func() time.Time { now = now.Add(time.Second); return now },
		Random: rand.NewChaCha8([32]byte{1}),
		Emit:   func(e recoup.Event) { b.events = append(b.events, e) },
		Count:  func(r Request) { b.counted = append(b.counted, r) },
		Logger: slog.New(slog.NewJSONHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return b
}

// serve sends r through the middleware and a mux with h at POST /companies/{id}.
func (b *bench) serve(t *testing.T, r *http.Request, h http.HandlerFunc) *httptest.ResponseRecorder {
	t.Helper()
	wrap, err := NewMiddleware(b.Options)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /companies/{id}", h)
	w := httptest.NewRecorder()
	wrap(mux).ServeHTTP(w, r)
	return w
}

func post(headers ...string) *http.Request {
	r := httptest.NewRequest("POST", "/companies/7", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func fail(err error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { Write(w, r, err) }
}

func ok(http.ResponseWriter, *http.Request) {}

func TestOptionsAreChecked(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"name of the service": func(o *Options) { o.Service = "" },
		"a clock":             func(o *Options) { o.Now = nil },
		"randomness":          func(o *Options) { o.Random = nil },
		"must end in /":       func(o *Options) { o.Documentation = "https://docs.example.com/errors" },
	} {
		o := newBench().Options
		change(&o)
		if _, err := NewMiddleware(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %q", err, want)
		}
	}
}

func TestRequestID(t *testing.T) {
	made := regexp.MustCompile(`^req_[0-9a-f]{32}$`)
	for given, kept := range map[string]bool{
		"req_success_001":                      true,
		"req_a-B_9":                            true,
		"0198c0de-0000-7000-8000-000000000001": true,
		"01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T":           true,
		"":                                     false,
		"req_":                                 false,
		"abc":                                  false,
		"req_with space":                       false,
		"req_<script>":                         false,
		"req_ümlaut":                           false,
		"req_" + strings.Repeat("a", 60):       true,
		"req_" + strings.Repeat("a", 61):       false,
	} {
		for name, h := range map[string]http.HandlerFunc{"success": ok, "failure": fail(New(CodeTimeout, "Late."))} {
			w := newBench().serve(t, post(RequestIDHeader, given), h)
			got := w.Header().Get(RequestIDHeader)
			if kept && got != given || !kept && !made.MatchString(got) {
				t.Errorf("%s: %q becomes %q", name, given, got)
			}
			if name == "failure" && decodeMap(t, w)["request_id"] != got {
				t.Errorf("body and header disagree: %s, %s", w.Body, got)
			}
		}
	}
}

func TestTraceparent(t *testing.T) {
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for header, kept := range map[string]bool{
		"00-" + trace + "-" + parent + "-01":                   true,
		"cc-" + trace + "-" + parent + "-01-later":             true,
		"00-" + trace + "-" + parent + "-01-later":             false,
		"cc-" + trace + "-" + parent + "-01.later":             false,
		"ff-" + trace + "-" + parent + "-01":                   false,
		"00-" + strings.ToUpper(trace) + "-" + parent + "-01":  false,
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01": false,
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01":  false,
		"00-" + trace + "-" + parent + "-0x":                   false,
		"00-" + trace + "-" + parent:                           false,
		"00_" + trace + "-" + parent + "-01":                   false,
		"":                                                     false,
	} {
		b := newBench()
		b.serve(t, post("Traceparent", header), fail(New(CodeTimeout, "Late.")))
		got := compact(b.events[0].CorrelationID)
		if kept != (got == trace) || b.events[0].CorrelationID.IsZero() {
			t.Errorf("%q: correlation id %s", header, got)
		}
	}
	b := newBench()
	twice := "00-" + trace + "-" + parent + "-01"
	b.serve(t, post("Traceparent", twice, "Traceparent", twice), fail(New(CodeTimeout, "Late.")))
	if compact(b.events[0].CorrelationID) == trace {
		t.Error("a header that was sent twice is trusted")
	}
}

// The fields are those of spec 001, Error Context Enrichment.
func TestContext(t *testing.T) {
	var got Context
	r := post(RequestIDHeader, "req_1", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"User-Agent", "x"+strings.Repeat("ä", 200))
	newBench().serve(t, r, func(_ http.ResponseWriter, r *http.Request) {
		Annotate(r.Context(), func(a *Annotations) {
			*a = Annotations{DatabaseShard: "shard-2", ExternalService: "zerobounce", APIKeyID: "rdb_0123456789abcdef0123456789abcdef", AccountID: "acme", RequestSource: "ingest-repo"}
		})
		Annotate(r.Context(), func(a *Annotations) { a.AccountID = "acme-2" })
		got, _ = FromContext(r.Context())
	})
	want := Context{
		RequestID: "req_1", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", UserAgent: "x" + strings.Repeat("ä", 127), APIVersion: "v1",
		Endpoint: "POST /companies/{id}", Timestamp: noon.Add(time.Second), ServerID: "node-3",
		Annotations: Annotations{DatabaseShard: "shard-2", ExternalService: "zerobounce", APIKeyID: "rdb_…cdef", AccountID: "acme-2", RequestSource: "ingest-repo"},
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestContextOutsideOfTheMiddleware(t *testing.T) {
	Annotate(t.Context(), func(*Annotations) { t.Error("there is nothing to annotate") })
	if _, found := FromContext(t.Context()); found {
		t.Error("a context from nowhere")
	}
}

func TestObfuscate(t *testing.T) {
	for key, want := range map[string]string{
		"":                                     "",
		"short":                                "…",
		"rdb_…cdef":                            "rdb_…cdef",
		"rdb_0123456789abcdef0123456789abcdef": "rdb_…cdef",
		"0123456789abcdef0123456789abcdef":     "…cdef",
		"averylongprefix_0123456789":           "…6789",
	} {
		if got := obfuscate(key); got != want {
			t.Errorf("%q becomes %q, want %q", key, got, want)
		}
	}
}

func TestFailureIsCompletedAndReported(t *testing.T) {
	b := newBench()
	b.Documentation = "https://docs.example.com/errors/"
	w := b.serve(t, post(), func(w http.ResponseWriter, r *http.Request) {
		Annotate(r.Context(), func(a *Annotations) { a.AccountID, a.ExternalService = "acme", "zerobounce" })
		Write(w, r, Wrap(errors.New("the cause"), CodeRateLimitExceeded, "Slow down.").With("limit", 100).With("note", "personal"))
	})
	body := decodeMap(t, w)
	if w.Code != 429 || body["timestamp"] != "2026-02-02T12:00:02Z" || body["documentation_url"] != "https://docs.example.com/errors/RATE_LIMIT_EXCEEDED" {
		t.Errorf("%d %v", w.Code, body)
	}
	if len(b.events) != 1 || len(b.counted) != 1 {
		t.Fatalf("%d events, %d counted", len(b.events), len(b.counted))
	}
	e := b.events[0]
	if e.Code != CodeRateLimitExceeded || e.HTTPStatus != 429 || e.Service != "renderdb" || e.Region != "eu-1" || e.Tenant != "acme" ||
		e.ExternalService != "zerobounce" || e.Endpoint != "POST /companies/{id}" || e.ID.IsZero() || !e.TS.Equal(noon.Add(3*time.Second)) {
		t.Errorf("%+v", e)
	}
	if fmt.Sprint(e.Details) != "map[limit:100 retryable:true]" {
		t.Errorf("details %v", e.Details)
	}
	if want := (Request{Endpoint: "POST /companies/{id}", Status: 429, Code: CodeRateLimitExceeded, Duration: 2 * time.Second}); b.counted[0] != want {
		t.Errorf("counted %+v, want %+v", b.counted[0], want)
	}
	if log := b.log.String(); !strings.Contains(log, "the cause") || !strings.Contains(log, body["request_id"].(string)) {
		t.Errorf("the log does not tell the cause under the request id: %s", log)
	}
}

// What callers ask for wrongly is no error of the service, whatever caused it.
func TestOnlyOurFailuresAreLoggedAsErrors(t *testing.T) {
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		level   string
	}{
		"not there":             {fail(Wrap(errors.New("no rows"), CodeNotFound, "There is nothing.")), "DEBUG"},
		"in the way":            {fail(Wrap(errors.New("version 3"), CodeConflict, "Look again.")), "DEBUG"},
		"no cause":              {fail(New(CodeNotFound, "There is nothing.")), "DEBUG"},
		"turned away":           {fail(New(CodeInvalidAPIKey, "No.")), "WARN"},
		"not permitted":         {fail(New(CodeInsufficientPermissions, "No.")), "WARN"},
		"too often":             {fail(New(CodeRateLimitExceeded, "Slow down.")), "WARN"},
		"good":                  {func(http.ResponseWriter, *http.Request) {}, ""},
		"ours":                  {fail(errors.New("broken")), "ERROR"},
		"a panic":               {func(http.ResponseWriter, *http.Request) { panic("broken") }, "ERROR"},
		"a panic in mid-answer": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); panic("broken") }, "ERROR"},
	} {
		b := newBench()
		func() {
			defer func() { _ = recover() }() // the connection of a broken answer is dropped
			b.serve(t, post(), row.handler)
		}()
		var line struct{ Level string }
		if text := b.log.Bytes(); len(text) > 0 {
			if err := json.Unmarshal(text, &line); err != nil {
				t.Errorf("%s: %v: %s", name, err, text)
			}
		}
		if line.Level != row.level {
			t.Errorf("%s is logged at %q, want %q", name, line.Level, row.level)
		}
	}
}

func TestValidationEventNamesTheField(t *testing.T) {
	b := newBench()
	b.serve(t, post(), fail(Validation(FieldError{Field: "email", Value: "me@example.com", Constraint: "format"})))
	if got := fmt.Sprint(b.events[0].Details); got != "map[field:email retryable:false]" {
		t.Error(got)
	}
}

func TestSuccessIsCountedOnly(t *testing.T) {
	b := newBench()
	w := b.serve(t, post(), ok)
	if w.Code != 200 || len(b.events) != 0 || b.log.Len() != 0 {
		t.Errorf("%d, %v, %s", w.Code, b.events, &b.log)
	}
	if want := (Request{Endpoint: "POST /companies/{id}", Status: 200, Duration: time.Second}); b.counted[0] != want {
		t.Errorf("%+v", b.counted[0])
	}
}

// A status without an Error, such as the mux's own 404, is an event as well.
func TestBareStatusIsReported(t *testing.T) {
	b := newBench()
	b.serve(t, httptest.NewRequest("GET", "/nowhere?token=secret", nil), ok)
	if len(b.events) != 1 || b.events[0].Code != CodeNotFound || b.events[0].Endpoint != "" || b.counted[0].Code != CodeNotFound {
		t.Errorf("%+v, %+v", b.events, b.counted)
	}
}

func TestPanic(t *testing.T) {
	for name, value := range map[string]any{
		"text": "secret", "error": errors.New("secret"), "fault": New(CodeValidationError, "secret"),
	} {
		b := newBench()
		w := b.serve(t, post(), func(http.ResponseWriter, *http.Request) { panic(value) })
		if body := decodeMap(t, w); w.Code != 500 || body["error_code"] != "INTERNAL_ERROR" || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if len(b.events) != 1 || b.events[0].Code != CodeRuntimeBug || b.counted[0].Status != 500 {
			t.Errorf("%s: %+v, %+v", name, b.events, b.counted)
		}
		if log := b.log.String(); !strings.Contains(log, "secret") || !strings.Contains(log, "middleware_test.go") {
			t.Errorf("%s: the log lacks the value or the stack: %s", name, log)
		}
	}
}

func TestPanicAfterTheResponseBegan(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"write":  func(w http.ResponseWriter) { _, _ = io.WriteString(w, "half") },
		"header": func(w http.ResponseWriter) { w.WriteHeader(201) },
		"flush":  func(w http.ResponseWriter) { w.(http.Flusher).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			wrap, err := NewMiddleware(b.Options)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			func() {
				defer func() {
					if p := recover(); p != http.ErrAbortHandler {
						t.Errorf("the connection is not aborted: %v", p)
					}
				}()
				wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { begin(w); panic("late") })).ServeHTTP(w, post())
			}()
			if strings.Contains(w.Body.String(), "INTERNAL_ERROR") || w.Code >= 400 {
				t.Errorf("a second answer was written: %d %s", w.Code, w.Body)
			}
			if len(b.events) != 1 || b.events[0].Code != CodeRuntimeBug || len(b.counted) != 1 {
				t.Errorf("%+v, %+v", b.events, b.counted)
			}
		})
	}
}

func TestAbortPassesThrough(t *testing.T) {
	b := newBench()
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("got %v", p)
		}
		if len(b.counted) != 1 || b.counted[0].Status != statusAborted || b.counted[0].Code != CodeRequestCancelled {
			t.Errorf("counted %+v", b.counted)
		}
	}()
	b.serve(t, post(), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

func TestWriteAfterTheResponseBegan(t *testing.T) {
	b := newBench()
	w := b.serve(t, post(), func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		Write(w, r, New(CodeUpstreamError, "The source broke off."))
	})
	if w.Code != 200 || w.Body.String() != "half" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(b.events) != 1 || b.events[0].Code != CodeUpstreamError || b.events[0].HTTPStatus != 200 {
		t.Errorf("%+v", b.events)
	}
}

func TestHooksMayPanic(t *testing.T) {
	b := newBench()
	b.Emit = func(recoup.Event) { panic("emit") }
	b.Count = func(Request) { panic("count") }
	w := b.serve(t, post(), fail(New(CodeTimeout, "Late.")))
	if w.Code != 504 || decodeMap(t, w)["error_code"] != "TIMEOUT" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, hook := range []string{`"hook":"Emit"`, `"hook":"Count"`} {
		if !strings.Contains(b.log.String(), hook) {
			t.Errorf("the log does not mention %s", hook)
		}
	}
}

func TestHooksAreOptional(t *testing.T) {
	b := newBench()
	b.Emit, b.Count, b.Logger = nil, nil, nil
	if w := b.serve(t, post(), func(http.ResponseWriter, *http.Request) { panic("x") }); w.Code != 500 {
		t.Errorf("%d", w.Code)
	}
}

func TestRegistryOfItsOwn(t *testing.T) {
	own := *mustLookup(t, CodeTimeout)
	own.Code, own.Example, own.HTTPStatus = "PRINTER_ON_FIRE", nil, 418
	b := newBench()
	reg, err := Default().With(own)
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = reg
	w := b.serve(t, post(), fail(New("PRINTER_ON_FIRE", "Run.")))
	if w.Code != 418 || decodeMap(t, w)["documentation_url"] != "/errors/PRINTER_ON_FIRE" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := b.serve(t, post(), fail(New("NEVER_HEARD_OF", "?"))); decodeMap(t, w)["documentation_url"] != nil {
		t.Errorf("an unknown code links to a page that does not exist: %s", w.Body)
	}
}

func TestInformationalStatusIsNotTheAnswer(t *testing.T) {
	b := newBench()
	w := b.serve(t, post(), func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		Write(w, r, New(CodeTimeout, "Late."))
	})
	if b.counted[0].Status != 504 || !strings.Contains(w.Body.String(), "TIMEOUT") {
		t.Errorf("%+v %s", b.counted[0], w.Body)
	}
}

// The writer below can be reached through http.ResponseController.
func TestResponseController(t *testing.T) {
	b := newBench()
	wrap, err := NewMiddleware(b.Options)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	server := httptest.NewServer(wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c := http.NewResponseController(w)
		done <- errors.Join(c.SetWriteDeadline(time.Time{}), c.EnableFullDuplex(), c.Flush())
	})))
	defer server.Close()
	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-done, resp.Body.Close()); err != nil {
		t.Error(err)
	}
}

func TestHijack(t *testing.T) {
	b := newBench()
	counted := make(chan Request, 1)
	b.Count = func(r Request) { counted <- r }
	wrap, err := NewMiddleware(b.Options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = rw.WriteString("HTTP/1.1 204 No Content\r\n\r\n")
		_ = rw.Flush()
		_ = conn.Close()
		panic("after the connection was taken over")
	})))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 204 {
		t.Fatalf("%v, %v", resp, err)
	}
	if got := <-counted; got.Status != http.StatusSwitchingProtocols || got.Code != CodeRuntimeBug {
		t.Errorf("%+v", got)
	}
	_ = conn.Close()
}

func TestContextIsLogged(t *testing.T) {
	b := newBench()
	b.serve(t, post(RequestIDHeader, "req_1"), fail(errors.New("boom")))
	var line struct {
		Code    string
		Status  int
		Error   string
		Context Context
	}
	if err := json.Unmarshal(b.log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line.Code != "INTERNAL_ERROR" || line.Status != 500 || line.Context.RequestID != "req_1" || line.Context.ServerID != "node-3" || !strings.HasSuffix(line.Error, "boom") {
		t.Errorf("%+v", line)
	}
}
