package fault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
)

// call is one request on its way through the middleware, and the context in which
// handlers find it.
type call struct {
	context.Context
	*middleware
	request  *http.Request
	response response
	trace    recoup.ID
	aborted  bool
	stack    []byte    // of a handler that panicked
	shown    [1]string // the request's id, as the header of the answer

	mu      sync.Mutex // handlers may use several goroutines
	info    Context
	failure *Error
}

type callKey struct{}

// Value returns the call itself, or what the context around it has.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// callFrom returns the call of a request, or nil outside of the middleware. The
// methods that Write uses accept nil.
func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func (c *call) registry() *Registry {
	if c == nil {
		return Default()
	}
	return c.Registry
}

// began reports whether the response is on its way, so that its status and
// headers are out of reach.
func (c *call) began() bool { return c != nil && c.response.status != 0 }

// complete gives e what only the request knows, and remembers it for the hooks.
func (c *call) complete(e *Error) {
	if c == nil {
		if e.RequestID == "" {
			e.RequestID = unknownRequestID
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.RequestID = c.info.RequestID
	if e.Timestamp.IsZero() {
		e.Timestamp = c.Now()
	}
	if e.DocumentationURL == "" && e.def.Code == e.Code {
		e.DocumentationURL = c.documentation() + string(e.Code)
	}
	if c.failure == nil {
		c.failure = e
	}
}

// documentation is the address that a code is appended to, whole if it is known.
func (c *call) documentation() string {
	if c.Origin == nil || !strings.HasPrefix(c.Documentation, "/") {
		return c.Documentation
	}
	return strings.TrimSuffix(c.Origin(c.request), "/") + c.Documentation
}

// crashed remembers that the handler panicked, which is worse than any failure
// before it.
func (c *call) crashed(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		cause = fmt.Errorf("%w, after: %w", cause, c.failure)
	}
	c.failure = Wrap(cause, CodeRuntimeBug, "A handler crashed.")
}

// outcome returns the status of the finished request and its failure, if any.
func (c *call) outcome() (*Error, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := c.response.status
	switch {
	case status == 0 && c.aborted:
		status = statusAborted
	case status == 0:
		status = http.StatusOK // net/http sends it for a handler that wrote nothing
	}
	if c.failure == nil && status >= 400 {
		def := c.Registry.define(codeOfStatus(status))
		return &Error{Code: def.Code, def: def}, status
	}
	return c.failure, status
}

// event is the fact that this request failed, without a word of what it said.
func (c *call) event(failure *Error, status int, now time.Time) recoup.Event {
	info := c.snapshot()
	return recoup.Event{
		ID: c.ids.New(now), Code: failure.Code, CorrelationID: c.trace,
		Service: c.Service, Region: c.Region, Endpoint: info.Endpoint, HTTPStatus: status,
		Tenant: info.AccountID, ExternalService: info.ExternalService, Details: eventDetails(failure), TS: now,
	}
}

func (c *call) snapshot() Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := c.info
	info.TraceID, info.Endpoint = compact(c.trace), c.request.Pattern
	if c.Client != nil {
		info.Client = c.Client(c.request)
	}
	return info
}
