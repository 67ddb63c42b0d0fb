// Package app turns options into a running node: it opens the store, brings it
// up to date, puts engine, ledger, dead letters, slices, scheduler, notifier
// and API together, runs what has to run beside them, and stops all of it in the
// right order. It is where the clock is read.
package app

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lease"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/pace"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Node is a running Recoup.
type Node struct {
	o             Options
	name          string // of this process, among all that share its database
	store         Store
	vault         *vault
	clock         *clock
	pace          *pace.Pace // nil: the node never rests
	ledger        *ledger.Ledger
	transport     ledger.Transport // of events to the ledger; nil: there is none
	engine        *engine.Engine
	heartbeats    *lease.Heartbeats
	api           *api.API
	registry      *registrar
	metrics       *metrics
	traces        *tracing // nil: nobody wants them
	listener      net.Listener
	figures       net.Listener // of the metrics; nil: they are with the API
	secure        bool         // with TLS
	loops         sync.WaitGroup
	hurried       chan struct{} // closed by Hurry
	hurry         sync.Once
	jobs          *scheduler.Clock
	notifier      *notify.Dispatcher
	letters       *deadletter.Service
	pusher        *push.Pusher
	policyWatcher policyWatcher
	unusable      bool // the database, as the log knows it
	slices        []openSlice

	diagnosed atomic.Pointer[wire.Diagnosis] // while it leads: what the doctor found last
	playing   atomic.Bool                    // a demo plays its month
	wasReady  atomic.Bool                    // when it was last asked
}

// Open makes a node ready: when it returns the node listens, and answers as soon
// as [Node.Serve] runs.
func Open(ctx context.Context, o Options) (*Node, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	open := openStore
	if o.Standby {
		o = o.asStandby()
	}
	if o.Demo {
		open = openDemoStore
	}
	s, err := open(ctx, &o, o.Logger)
	if err != nil {
		return nil, err
	}
	return OpenOn(ctx, s, o)
}

// OpenOn is [Open] on a store that is open already. It is the node's from now on,
// which closes it, also if this fails.
func OpenOn(ctx context.Context, s Store, o Options) (*Node, error) {
	o = o.withDefaults()
	n := &Node{o: o, store: s, hurried: make(chan struct{})}
	if err := n.assemble(ctx); err != nil {
		return nil, errors.Join(err, n.Close(ctx))
	}
	if err := n.listen(ctx); err != nil {
		return nil, errors.Join(err, n.Close(ctx))
	}
	return n, nil
}

// assemble puts the parts together, each made from those before it.
func (n *Node) assemble(ctx context.Context) error {
	if err := extend(n.store, n.o.Slices); err != nil {
		return err
	}
	if err := n.setClock(ctx); err != nil {
		return err
	}
	ids := recoup.NewIDSource(n.o.Random)
	n.name = n.o.Node + " " + ids.New(n.o.Now()).String()
	n.metrics = newMetrics()
	if n.o.Traces != "" {
		var err error
		if n.traces, err = newTracing(ctx, &n.o); err != nil {
			return err
		}
	}
	if n.o.Policy != "" { // what changes from here on is noticed
		n.policyWatcher.seen, _, _ = n.look()
	}
	if err := n.openVault(ctx); err != nil { // before anything is put in force
		return err
	}
	names := &tableNames{store: n.store, also: syncPolicies(n.o.Slices), logger: n.o.Logger}
	registry, policies, err := n.begin(ctx, names)
	if err != nil {
		return err
	}
	if err := n.openTransport(ctx, ids); err != nil {
		return err
	}
	keys := newTenantKeys(n.vault, n.o)
	n.ledger, err = n.newLedger(ctx, keys, registry, policies.Current(), ids)
	if err != nil {
		return err
	}
	n.registry = &registrar{tenantKeys: keys, tableNames: names, store: n.store, slices: n.o.Slices, opened: func() []openSlice { return n.slices }, policies: policies, ledger: n.ledger, now: n.o.Now}
	n.registry.codes.Store(registry)
	policies.Follow = n.registry.renew
	n.heartbeats = lease.NewHeartbeats(n.store, n.name, n.o.Now)
	n.engine, err = engine.New(engine.Options{
		Store: n.store, Ledger: n.ledger, Policies: policies, Codes: n.registry.Codes, Now: n.o.Now, IDs: ids, Heartbeats: n.heartbeats, Logger: n.o.Logger,
		Refusal: api.Refusal,
	})
	if err != nil {
		return err
	}
	n.registry.engine = n.engine
	if err := n.assembleServices(ctx, ids); err != nil {
		return err
	}
	open := ""
	if n.o.Demo {
		open = "demo"
	} else if err := n.adminKey(ctx, ids); err != nil {
		return err
	}
	return n.open(ids, open)
}

// assembleServices puts together what works on the engine and the ledger.
func (n *Node) assembleServices(ctx context.Context, ids *recoup.IDSource) (err error) {
	if n.letters, err = n.newLetters(ctx, ids); err != nil {
		return err
	}
	if err := n.openSlices(ctx, ids); err != nil {
		return err
	}
	if n.jobs, err = n.newScheduler(); err != nil {
		return err
	}
	if n.notifier, err = n.newNotifier(); err != nil {
		return err
	}
	if n.pusher, err = n.newPusher(); err != nil {
		return err
	}
	return n.newPace()
}

// open puts the API in front of the rest.
func (n *Node) open(ids *recoup.IDSource, everybody string) (err error) {
	adoptions, sources := n.adopted()
	n.api, err = api.New(api.Options{
		URL: n.o.URL, Proxies: n.o.Proxies,
		Store: n.store, Engine: n.engine, Letters: n.letters, Ledger: n.ledger, Registrar: n.registry, Jobs: jobRunner{n.jobs}, Channels: nodeChannels{n, ids}, Receivers: n.pusher, Doctor: n, Adoptions: adoptions, Sources: sources,
		Now: n.o.Now, Random: n.o.Random, IDs: ids, Open: everybody, Standby: n.o.Standby, Limits: n.o.Limits, Version: n.o.Build.Version, Revision: n.o.Build.Revision, Date: n.o.Build.Date, Node: n.o.Node,
		Trace: n.traceHook(), Ready: n.ready, Metrics: n.metricsFor(), Logger: n.o.Logger, Count: n.metrics.count, Console: n.console(everybody != ""), Slices: n.sliceRoutes(),
	})
	if err != nil {
		return err
	}
	n.metrics.watch(n)
	n.metrics.showBuild(n.o.Build)
	n.metrics.registry.MustRegister(&jobCollector{n}, &anonymousCollector{n}, &noticeCollector{n}, n.cached(policyCollector{n}.read), &doctorCollector{n}, n.cached(letterCollector{n}.read), n.cached(queueCollector{n}.read), &receiverCollector{n})
	if late, can := n.store.(store.LateEvents); can {
		n.metrics.registry.MustRegister(n.cached(lateCollector{n, late}.read))
	}
	n.metrics.registry.MustRegister(n.sliceCollectors()...)
	return nil
}

// ready says why the node cannot serve, if it cannot. An idle node that was ready does not
// ask its database again: it wakes when its next look fails.
func (n *Node) ready(ctx context.Context) error {
	if n.pace.Asleep() && n.wasReady.Load() {
		return nil
	}
	err := n.checkReady(ctx)
	n.wasReady.Store(err == nil)
	return err
}

func (n *Node) checkReady(ctx context.Context) error {
	if err := n.store.Ping(ctx); err != nil {
		return err
	}
	return n.vault.ready(ctx)
}

// watchDatabase logs that the database cannot be used, and that it can again.
func (n *Node) watchDatabase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	err := n.store.Ping(ctx)
	switch {
	case err != nil && !n.unusable && !errors.Is(err, context.Canceled):
		n.o.Logger.Error("database unavailable; this node is not ready", "cause", err)
		n.unusable = true
	case err == nil && n.unusable:
		n.o.Logger.Info("database available again")
		n.unusable = false
	}
	return nil
}

// pingPatience is how long a database may take to say that it is there.
const pingPatience = 5 * time.Second

// Address is where the node listens.
func (n *Node) Address() string { return n.listener.Addr().String() }

// Handler answers requests without a connection.
func (n *Node) Handler() http.Handler { return n.counted(n.api) }

// traceHook returns what begins a span, or nil.
func (n *Node) traceHook() func(*http.Request, string) (context.Context, func(error)) {
	if n.traces == nil {
		return nil
	}
	return n.traces.begin
}

// jitter draws from [0, 1). It spreads retries and protects nothing.
func jitter() float64 { return mathrand.Float64() }
