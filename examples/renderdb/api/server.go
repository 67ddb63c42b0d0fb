// Package api is RenderDB, a small service with companies, people and slots that
// answers every failure in the shape of spec 001. It shows how a team takes up
// package fault: codes of its own beside the registry's, the middleware around
// the mux, handlers that return their failures, and the failures of a database
// and of external services put into the words of the contract.
//
// It keeps its records in memory and knows nothing of Recoup's server.
package api

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// maxBody is the most that is read of a request.
const maxBody = 64 << 10

// Options are what [New] needs to know. Now and Random are required.
type Options struct {
	Now    func() time.Time // time.Now in production
	Random io.Reader        // crypto/rand.Reader in production

	Keys          []Key
	Limits        Limits            // zero: DefaultLimits
	Failures      *Failures         // switched on for demonstration; nil: none
	Transport     http.RoundTripper // leads to the external services; nil: stand-ins in this process
	Documentation string            // address that a code is appended to

	Emit   func(recoup.Event) // called for every failed request: the way to a ledger
	Logger *slog.Logger       // gets the causes that callers must not see
}

type server struct {
	now           func() time.Time
	registry      *fault.Registry
	keys          keyring
	failures      *Failures
	requests      gate
	verifications gate
	rate, quota   *limiter
	database      *database
	external      external
	answers       answers
}

// New returns the whole service.
func New(o Options) (http.Handler, error) {
	registry, err := fault.Default().With(ownCodes()...)
	if err != nil {
		return nil, err
	}
	middleware, err := fault.NewMiddleware(fault.Options{
		Registry: registry, Service: "renderdb", ServerID: "renderdb-1", APIVersion: "v1",
		Documentation: o.Documentation, Now: o.Now, Random: o.Random, Emit: o.Emit, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	return middleware(newServer(o, registry).routes()), nil
}

func newServer(o Options, registry *fault.Registry) *server {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Failures == nil {
		o.Failures = NewFailures(o.Now)
	}
	if o.Transport == nil {
		o.Transport = standIns{o.Failures}
	}
	return &server{
		now: o.Now, registry: registry, keys: newKeyring(o.Keys), failures: o.Failures,
		requests:      newGate(o.Limits.InFlight),
		verifications: newGate(o.Limits.Verifications),
		rate:          newLimiter(fault.CodeRateLimitExceeded, o.Limits.PerMinute, time.Minute),
		quota:         newLimiter(fault.CodeQuotaExceeded, o.Limits.PerDay, 24*time.Hour),
		database:      newDatabase(o.Failures),
		external:      newExternal(o.Transport, o.Now),
		answers:       answers{byKey: map[string]*attempt{}},
	}
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /companies", s.route(Writer, s.once(s.createCompany)))
	mux.Handle("GET /companies/{company_uid}", s.route(Reader, s.showCompany))
	mux.Handle("POST /companies/{company_uid}/scrape", s.route(Writer, s.scrapeCompany))
	mux.Handle("POST /people", s.route(Writer, s.once(s.createPerson)))
	mux.Handle("PUT /slots/{slot_uid}", s.route(Writer, s.fillSlot))
	mux.Handle("DELETE /slots/{slot_uid}", s.route(Writer, s.freeSlot))

	mux.Handle("GET /errors/{code}", fault.HandlerFunc(s.documentation))
	mux.Handle("GET /admin/failures", onLoopback(s.listFailures))
	mux.Handle("PUT /admin/failures/{name}", onLoopback(s.switchFailure))
	mux.Handle("DELETE /admin/failures/{name}", onLoopback(s.switchFailure))
	mux.Handle("/", fault.HandlerFunc(noSuchPath))
	return mux
}

// call is an admitted request.
type call struct {
	*http.Request
	key Key
	now time.Time
}

// requestID is the id that the middleware gave the request.
func (c call) requestID() string {
	known, _ := fault.FromContext(c.Context())
	return known.RequestID
}

// answer is what a handler that succeeded has to say.
type answer struct {
	status int
	body   any
}

// handler does the work of one endpoint. It returns its failure; what that
// looks like on the wire is not its business.
type handler func(call) (answer, error)

// route puts the checks that all endpoints share before a handler.
func (s *server) route(need Role, h handler) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if s.failures.On(Overload) || !s.requests.enter() {
			return overloaded()
		}
		defer s.requests.leave()
		c, err := s.admit(r, need)
		if err != nil {
			return err
		}
		c.Body = http.MaxBytesReader(w, r.Body, maxBody)
		a, err := h(c)
		if err != nil {
			return err
		}
		return write(w, a.status, a.body)
	})
}

func write(w http.ResponseWriter, status int, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", fault.MediaJSON)
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // it fails only if the client has gone
	return nil
}

func noSuchPath(_ http.ResponseWriter, r *http.Request) error {
	return fault.New(fault.CodeNotFound, "There is nothing under this path for %s.", r.Method)
}
