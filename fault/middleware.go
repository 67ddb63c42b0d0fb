package fault

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
)

// RequestIDHeader carries the request id, in both directions.
const RequestIDHeader = "X-Request-Id"

// Options configure [NewMiddleware]. Service, Now and Random are required.
type Options struct {
	Registry   *Registry // nil: Default
	Service    string    // logical name of the service, in every event
	Region     string
	ServerID   string
	APIVersion string

	// Documentation is the URL prefix of the documentation links, to which the code
	// is appended; "/errors/" if empty, where a Recoup server has its pages.
	Documentation string

	// Origin returns the service's address as the client of a request sees it, such
	// as https://recoup.example.com; a Documentation that is a path is appended to
	// it. If it is nil or returns "", links are paths.
	Origin func(*http.Request) string

	// Client returns the address that a request comes from, for the log, as the
	// service knows it: behind a proxy that is not the connection's. Nil: it is not
	// logged.
	Client func(*http.Request) string

	Now    func() time.Time // time.Now in production
	Random io.Reader        // crypto/rand.Reader in production

	// Emit is called for every failed request: one whose status is 400 or more, or
	// that was passed to [Write]. Count is called for every request. Both are called
	// after the handler returned, on its goroutine: they must not block.
	Emit  func(recoup.Event)
	Count func(Request)

	// Logger gets every failure with the context of its request (spec 001), and what
	// callers must not see: causes, and panics with their stacks. 5xx are errors; 401,
	// 403, 408, 413 and 429 warnings; other 4xx are logged at the level debug. Nil
	// discards it.
	Logger *slog.Logger
}

// Request is what Options.Count is called with.
type Request struct {
	Endpoint string      // the pattern that matched; empty if none did
	Status   int         // 499 if it was aborted before it was answered
	Code     recoup.Code // empty if it succeeded
	Duration time.Duration
}

// statusAborted is the status of a request that got no answer.
const statusAborted = 499

type middleware struct {
	Options
	ids *recoup.IDSource
}

// NewMiddleware returns the middleware that gives every request its id, trace
// and context (see [FromContext]), turns panics into INTERNAL_ERROR, and calls the
// hooks, which see a panic as a RUNTIME_BUG. A panic after the response has begun
// aborts the connection, so that no client takes half a response for a whole one.
// Wrap the whole mux with it.
func NewMiddleware(o Options) (func(http.Handler) http.Handler, error) {
	switch {
	case o.Service == "":
		return nil, errors.New("fault: middleware needs the name of the service")
	case o.Now == nil:
		return nil, errors.New("fault: middleware needs a clock")
	case o.Random == nil:
		return nil, errors.New("fault: middleware needs a source of randomness")
	}
	if o.Registry == nil {
		o.Registry = Default()
	}
	if o.Documentation == "" {
		o.Documentation = "/errors/"
	}
	if !strings.HasSuffix(o.Documentation, "/") {
		return nil, fmt.Errorf("fault: documentation address %q must end in /: a code is appended to it", o.Documentation)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m := &middleware{Options: o, ids: recoup.NewIDSource(o.Random)}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}, nil
}

func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	c := m.begin(w, r)
	c.shown[0] = c.info.RequestID
	w.Header()[RequestIDHeader] = c.shown[:]
	defer func() {
		switch p := recover(); {
		case p == nil:
			m.end(c)
		case isAbort(p):
			c.aborted = true
			m.end(c)
			panic(p)
		default:
			began := c.began()
			m.panicked(c, p)
			m.end(c)
			if began {
				panic(http.ErrAbortHandler)
			}
		}
	}()
	next.ServeHTTP(&c.response, c.request)
}

// isAbort is true for the panic by which a handler asks net/http to drop the
// connection.
func isAbort(p any) bool {
	err, ok := p.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

func (m *middleware) begin(w http.ResponseWriter, r *http.Request) *call {
	now := m.Now()
	c := &call{Context: r.Context(), middleware: m, response: response{ResponseWriter: w}}
	c.info = Context{
		RequestID:  r.Header.Get(RequestIDHeader),
		UserAgent:  truncate(r.UserAgent(), maxUserAgent),
		APIVersion: m.APIVersion,
		Timestamp:  now,
		ServerID:   m.ServerID,
	}
	if !wellFormedRequestID(c.info.RequestID) {
		c.info.RequestID = newRequestID(m.ids.New(now))
	}
	var ok bool
	if c.trace, ok = parseTraceparent(r.Header["Traceparent"]); !ok {
		c.trace = m.ids.New(now)
	}
	c.request = r.WithContext(c)
	return c
}

// panicked answers a crash as INTERNAL_ERROR and reports it as RUNTIME_BUG: the
// caller may try again, and whoever counts must know that it is a bug. Its value
// and stack go to the log alone; the value is not wrapped, because a handler
// that panics with an [Error] crashed too.
func (m *middleware) panicked(c *call, p any) {
	c.stack = debug.Stack()
	cause := fmt.Errorf("handler panicked: %v", p)
	c.crashed(cause)
	Write(&c.response, c.request, cause)
}

func (m *middleware) end(c *call) {
	now := m.Now()
	failure, status := c.outcome()
	counted := Request{Endpoint: c.request.Pattern, Status: status, Duration: now.Sub(c.info.Timestamp)}
	if failure != nil {
		counted.Code = failure.Code
		m.report(c, failure, status, now)
	}
	if m.Count != nil {
		m.guard(c, "Count", func() { m.Count(counted) })
	}
}

// report logs a failure with all that is known about its request, and emits it.
func (m *middleware) report(c *call, failure *Error, status int, now time.Time) {
	attrs := []slog.Attr{slog.String("code", string(failure.Code)), slog.Int("status", status), slog.String("error", failure.Error())}
	level := levelOf(status)
	if c.stack != nil {
		level, attrs = slog.LevelError, append(attrs, slog.String("stack", string(c.stack)))
	}
	m.log(c, level, "request failed", attrs...)
	if m.Emit != nil {
		m.guard(c, "Emit", func() { m.Emit(c.event(failure, status, now)) })
	}
}

// levelOf is the level at which a failure is logged: error for the service's own
// faults, warning for refused callers, limits and timeouts, debug for the caller's
// other mistakes.
func levelOf(status int) slog.Level {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return slog.LevelWarn
	}
	if status >= 500 {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// guard recovers from a hook that panics.
func (m *middleware) guard(c *call, hook string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			m.log(c, slog.LevelError, "hook panicked", slog.String("hook", hook), slog.Any("panic", p))
		}
	}()
	f()
}

// log never panics: it runs after the response, and a logger that fails must not cost
// the event and the count.
func (m *middleware) log(c *call, level slog.Level, message string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	attrs = append(attrs, slog.Any("context", c.snapshot()))
	m.Logger.LogAttrs(c.request.Context(), level, message, attrs...)
}
