// Package httpapi serves routes over HTTP. It authenticates callers by their API keys, limits
// what one caller takes, reads requests strictly, answers in the contract of package fault and
// describes the routes as an OpenAPI document. It imports no service.
//
// A package that has an API declares its routes as a [Set]. A route is made of a method, a path
// and a function, whose first argument is the service of that package:
//
//	httpapi.Op(http.MethodGet, "/v1/books/{title}", "Show a book",
//		func(s *Service, c *httpapi.Call, in *titleIn) (Book, error) {
//			return s.Book(c.Context(), c.Caller, in.Title)
//		}).Roles(httpapi.RoleReader).Tag("books")
//
// The second argument describes the request: fields tagged path and query are parameters, and a
// field Body is read as JSON. Tags such as maximum, maxLength and enum are rules that the request
// is held to and that the document states. [Server.Mount] serves routes with their service.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// Options configure a [Server]. Keys, Now and Random are required.
type Options struct {
	Keys   store.KeyReader
	Now    func() time.Time
	Wall   func() time.Time // for deadlines of connections; nil: time.Now
	Random io.Reader

	// Open is the name under which everybody acts as an administrator, without a
	// key. It is for demonstrations on loopback only; empty: keys are needed.
	Open string

	// Standby has the server answer reads and refuse everything else.
	Standby bool

	// URL is where people find the server, without a slash at its end. Empty: links
	// go to the host that a request was sent to.
	URL string

	// Proxies are the addresses whose X-Forwarded headers are believed.
	Proxies []netip.Prefix

	Limits Limits
	Node   string       // the node's name, in logs
	Logger *slog.Logger // nil: nothing is logged

	// Trace is called when a route begins to run, and the function that it returns when the
	// route has ended; nil: no tracing.
	Trace func(r *http.Request, route string) (context.Context, func(error))

	Count func(fault.Request) // called for every request

	// Encode writes answers as JSON; nil: encoding/json does.
	Encode func(any) ([]byte, error)
}

// Server serves routes, each with the service that it was mounted with.
type Server struct {
	Options
	keys      *keyring
	admission *admissionControl
	turns     *turn.Turns // of work that callers can make expensive; one processor is left for the rest
	reads     *turn.Turns // of lists and other requests that may read much
	longReads *turn.Turns // of reads that may take several times as long, such as the doctor
	refusals  *refusals
	names     *names
	mux       *http.ServeMux
	folders   map[string]bool // paths that the mux redirects to the same with a slash
	handler   http.Handler
}

// New checks the options and returns a server without routes.
func New(o Options) (*Server, error) {
	if o.Keys == nil || o.Now == nil || o.Random == nil {
		return nil, errors.New("httpapi: keys, clock and randomness are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	s := &Server{
		Options: o, keys: newKeyring(o.Keys), admission: newAdmissionControl(o.Limits, o.Wall),
		turns: turn.New(max(1, runtime.GOMAXPROCS(0)-1), o.Wall),
		mux:   http.NewServeMux(), folders: map[string]bool{},
	}
	s.reads = turn.NewShared(s.admission.limits.Reads, o.Wall)
	s.longReads = turn.NewShared(longReads, o.Wall)
	s.refusals = &refusals{logger: o.Logger, kinds: map[refusalKind]*refusal{}}
	s.names = newNames(s.admission.limits.Names)
	around, err := fault.NewMiddleware(fault.Options{
		Service: "recoup", ServerID: o.Node, APIVersion: "v1", Now: o.Now, Random: o.Random, Logger: slog.New(quiet{o.Logger.Handler()}), Count: o.Count,
		Origin: s.Origin, Client: func(r *http.Request) string { return named(s.client(r)) },
	})
	if err != nil {
		return nil, err
	}
	s.mux.Handle(anywhere, s.unmatched(s.mux))
	handler := s.redirected(s.mux)
	if o.Open != "" {
		handler = local(handler)
	}
	s.handler = forgetful(around(handler))
	return s, nil
}

// Mount serves routes with a service, which must have the type of the first argument of
// their handlers. All routes are mounted before the server serves.
func (s *Server) Mount(service any, routes ...*Route) error {
	for _, rt := range routes {
		if got := reflect.TypeOf(service); got == nil || !got.AssignableTo(rt.service) {
			return fmt.Errorf("httpapi: %s is served by %s, not by %v", rt.name(), rt.service, got)
		}
		s.mux.Handle(rt.name(), s.handle(rt, service))
	}
	return nil
}

// Handle serves pages and files at a pattern of [http.ServeMux]. The handler checks keys and
// limits itself.
func (s *Server) Handle(pattern string, handler http.Handler) {
	if folder, ok := strings.CutSuffix(pattern, "/"); ok && strings.HasPrefix(pattern, "/") {
		s.folders[folder] = true
	}
	s.mux.Handle(pattern, handler)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// local answers requests of this machine only, whatever their path: without keys,
// that is all that protects what is behind it.
func local(next http.Handler) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if err := fromHere(r); err != nil {
			return err
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// anywhere is the pattern of what no route matches.
const anywhere = "/"

// methods are those that a request may name.
func methods() []string {
	return []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPost, http.MethodPut}
}

// unmatched answers what no route of the mux matches, in the contract, where the mux
// would answer in plain text.
func (s *Server) unmatched(mux *http.ServeMux) http.Handler {
	answer := s.Paid(func(w http.ResponseWriter, r *http.Request) error {
		allow := strings.Join(slices.DeleteFunc(methods(), func(method string) bool {
			probe := *r
			probe.Method = method
			_, pattern := mux.Handler(&probe)
			return pattern == anywhere
		}), ", ")
		if allow == "" {
			return fault.New(fault.CodeNotFound, "There is nothing at this address; /docs lists what there is.")
		}
		w.Header().Set("Allow", allow)
		named := "that method"
		if slices.Contains(methods(), r.Method) {
			named = r.Method
		}
		return fault.New(fault.CodeMethodNotAllowed, "This address does not take %s.", named).With("allow", allow)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Pattern = "" // it is counted as none
		answer.ServeHTTP(w, r)
	})
}

// redirected charges requests that the mux answers with a redirect, without a handler: those
// for a path that is not in its shortest form, and for a folder without its slash.
func (s *Server) redirected(mux *http.ServeMux) http.Handler {
	charged := s.Paid(func(w http.ResponseWriter, r *http.Request) error {
		mux.ServeHTTP(w, r)
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		clean := path.Clean(r.URL.Path)
		if clean == r.URL.Path && !s.folders[clean] || clean != "/" && clean+"/" == r.URL.Path {
			mux.ServeHTTP(w, r)
			return
		}
		charged.ServeHTTP(w, r)
	})
}

// Paid makes the handler of an answer that no key is needed for. A request with a valid key
// takes from the rate of that key, and any other from the rates of requests without a key.
func (s *Server) Paid(answer fault.HandlerFunc) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if key := s.holder(r); key != nil {
			if err := s.admission.keyRate(key, s.Now()); err != nil {
				return err
			}
			return answer(w, r)
		}
		leave, err := s.Anonymous(r, CostPage)
		if err != nil {
			return err
		}
		leave() // before it is written, so that a caller that reads slowly holds no slot
		return answer(w, r)
	})
}
