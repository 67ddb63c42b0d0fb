// Package api has the HTTP routes of the core: their handlers, their documentation and the
// reference. It decides nothing about errors. Package httpapi serves the routes.
//
// The routes are one list (routes.go), from which the handler, the OpenAPI document and the tests
// of permissions are made. Slices add routes of their own.
package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api/reference"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/stream"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Store is what the API asks of a store itself; the rest goes through the engine.
type Store interface {
	store.KeyReader
	store.KeyWriter
	store.AuditReader
	store.AuditWriter
	store.EventReader
	store.ProcessedWriter
	store.PolicyReader
	store.TableNamer
	AlertStore
	store.NoticeReader
	store.IDFinder
	store.ChangeReader
	store.ViewKeeper
}

// Ledger takes events.
type Ledger interface {
	Govern(ctx context.Context, now time.Time, batch []ledger.Incoming) (ledger.Governed, error)

	// Check says what is wrong with an event that is not governed, as far as it could
	// be read.
	Check(now time.Time, in *ledger.Incoming) error
	Append(ctx context.Context, events []store.Event) (*ledger.Receipt, error)
	CountDropped(now time.Time, reason string, n int64)

	// Transport is what carries events to the ledger; nil: they are written by this node.
	Transport() ledger.Transport

	// TenantHashes returns the hashes that a tenant may have in the ledger.
	TenantHashes(tenant string) []string
}

// Registrar changes what codes, policies and platform keys this node goes by.
type Registrar interface {
	TenantKeys
	PayloadKeys
	Codes() *fault.Registry
	RegisterCode(ctx context.Context, def fault.Definition, act store.Act) error
	ApplyPolicy(ctx context.Context, caller engine.Caller, text []byte, rebase bool, reason string) (Applied, error)
	CheckPolicy(text []byte) error
	PlanPolicy(ctx context.Context, caller engine.Caller, text []byte) (engine.Plan, error)

	// NotAdopted lists the names of tables that something else has in the database.
	NotAdopted() []wire.TableName
}

// Metrics writes what Prometheus reads, as far as a caller may see it: with hubs,
// nothing that is of another.
type Metrics func(hubs []string) ([]byte, error)

// Applied is what came of applying a policy.
type Applied struct {
	Version wire.PolicyVersion
	Added   bool // false: it was the current one already
	Rebased *engine.RebaseResult
}

// Options are what an API is made of. From Store to IDs all but Wall are required,
// the others may be left out.
type Options struct {
	Store     Store
	Engine    *engine.Engine
	Letters   *deadletter.Service
	Ledger    Ledger
	Registrar Registrar
	Jobs      Jobs
	Channels  Channels
	Receivers Receivers
	Doctor    Doctor
	Now       func() time.Time
	Wall      func() time.Time // what deadlines of connections go by; nil: time.Now
	Random    io.Reader
	IDs       *recoup.IDSource

	// Open is the name under which everybody acts as an administrator, without a
	// key. It is for demonstrations on loopback only; empty: keys are needed.
	Open string

	// Standby has the node answer reads and refuse everything else, on a copy of a database
	// whose own nodes do the work.
	Standby bool

	// URL is where people find the server, without a slash at its end. Empty: links
	// go to the host that a request was sent to.
	URL string

	// Proxies are the addresses whose X-Forwarded headers are believed; nobody's else.
	Proxies []netip.Prefix

	Limits httpapi.Limits

	// Version, Revision and Date say what the program was built from, as far as it knows.
	Version, Revision, Date string

	// Adoptions lists the tables that are governed where they are; nil: there are none.
	Adoptions func(context.Context) ([]wire.Adoption, error)

	// Sources has what errors keep of their rows of adopted tables; nil: nothing.
	Sources Sources

	Node    string                      // the node's name, in logs
	Ready   func(context.Context) error // why the node cannot serve; nil: it can
	Metrics Metrics                     // nil: they are elsewhere
	Logger  *slog.Logger

	// Trace is called when a route begins to run, and what it returns when it has
	// ended; nil: no tracing.
	Trace func(r *http.Request, route string) (context.Context, func(error))

	Count func(fault.Request) // called for every request

	// Slices are served beside the routes of this package.
	Slices []Slice

	// Console makes the pages for people at /console/, which ask this API in process;
	// nil: there are none.
	Console func(api http.Handler) (http.Handler, error)
}

// Slice has the routes of a feature, and the service that is the first argument of their handlers.
// IDs finds its things by a part of their id.
type Slice struct {
	Service any
	Set     httpapi.Set
	IDs     map[recoup.IDKind]FindIDs
}

// FindIDs returns things of one kind by a part of their id, the newest first.
type FindIDs func(ctx context.Context, part recoup.IDPart, limit int) ([]wire.FoundID, error)

// API answers requests.
type API struct {
	Options
	*httpapi.Server
	readiness *readiness
	pages     *pageCache
	streams   *stream.Watcher
	document  func() ([]byte, error)
	reference func() (*reference.Reference, error)
}

// New checks the options and puts the handler together.
func New(o Options) (*API, error) {
	if o.Store == nil || o.Engine == nil || o.Letters == nil || o.Ledger == nil || o.Registrar == nil || o.Jobs == nil || o.Channels == nil || o.Receivers == nil || o.Doctor == nil || o.Now == nil || o.Random == nil || o.IDs == nil {
		return nil, errors.New("api: store, engine, dead letters, ledger, registrar, jobs, channels, receivers, doctor, clock, randomness and ids are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	server, err := httpapi.New(httpapi.Options{
		Keys: o.Store, Now: o.Now, Wall: o.Wall, Random: o.Random, Open: o.Open, Standby: o.Standby, URL: o.URL, Proxies: o.Proxies,
		Limits: o.Limits, Node: o.Node, Logger: o.Logger, Trace: o.Trace, Count: o.Count, Encode: encode,
	})
	if err != nil {
		return nil, err
	}
	a := &API{Options: o, Server: server}
	a.streams = a.newStreams()
	a.pages = newPageCache()
	a.readiness = &readiness{check: o.Ready, now: server.Wall}
	var added []httpapi.Set
	for _, m := range o.Slices {
		added = append(added, m.Set)
	}
	a.document = sync.OnceValues(func() ([]byte, error) { return Document(o.Version, added...) }) // few ask, and a start need not wait for it
	a.reference = sync.OnceValues(func() (*reference.Reference, error) {
		document, err := a.document()
		if err != nil {
			return nil, err
		}
		return reference.New(document)
	})
	if err := a.mount(); err != nil {
		return nil, err
	}
	return a, nil
}

// mount adds the routes of this package, those of slices, and the pages.
func (a *API) mount() error {
	if err := a.Mount(a, routes()...); err != nil {
		return err
	}
	for _, m := range a.Slices {
		if err := a.Mount(m.Service, m.Set.Routes...); err != nil {
			return err
		}
	}
	if err := a.addPages(); err != nil {
		return err
	}
	return a.addConsole()
}
