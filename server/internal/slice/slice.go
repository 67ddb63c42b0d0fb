// Package slice registers what a feature adds to the program. A feature that owns its tables
// is a package of its own, a slice. Its routes, pages, commands and settings are known without
// a database. Its jobs, loops, metrics, checks and deliveries are added when a node opens it.
// The node and the command line use what is registered.
package slice

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/console"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Slice is a feature, as far as it is known without a node. Fields that are not set add
// nothing.
type Slice struct {
	Name      string
	Routes    httpapi.Set // served by Running.Service
	Pages     console.Section
	Commands  func(stream.Streams) []*cobra.Command
	Events    EventArchive // for 'recoup events --from-archive'
	Settings  []config.Setting
	Receivers []push.Kind
	Secrets   []string // purposes of its platform keys: a master key that is missing keeps a node from starting

	// CheckSettings says what is wrong with settings that do not go together. Nil: any do.
	CheckSettings func(config.Values) error

	// OpenTransport opens what carries events to the ledger; nil: the slice has no transport. It
	// runs before the ledger is opened: of the core, engine, dead letters and ledger are not
	// set. Without a transport it returns nil. The node closes the transport, also if its
	// start fails later.
	OpenTransport func(context.Context, Core) (ledger.Transport, error)

	// IDs are the tables in which people find things by a part of their id. Keys that
	// may read the slice for all hubs find them.
	IDs map[recoup.IDKind]sqldb.Place

	// FirstDue are statements that return when the first of what is due by the clock is, or
	// no row. A node that has nothing to do wakes for it. $1 is the last time of all.
	FirstDue []string

	// Extend adds to a PostgreSQL store what must be a part of its own statements. It is called
	// wherever the database is opened, before the first act.
	Extend func(*postgres.Store) error

	// Checks judge what the store's inspections find ([postgres.Store.AddInspection]), on a node or
	// without one. Repair applies the fixes that name the slice.
	Checks []doctor.Check
	Repair func(ctx context.Context, s *postgres.Store, fix doctor.Fix, actor string, now func() time.Time) error

	// SyncPolicy writes what the database must know of the policy. It runs in the
	// transaction that writes the policy's tables.
	SyncPolicy store.SyncPolicy

	// CheckPolicy refuses a policy that must not follow the one in force, because of what
	// the database has. It also runs before the slice is opened.
	CheckPolicy func(context.Context, sqldb.Reader, *policy.Policy) error

	// Jobs are the slice's jobs as the doctor reads their status from a database without a
	// node, where they never run. On a node they are those of Running.
	Jobs func(sqldb.DB) []scheduler.Job

	// Open makes the slice ready on a node. An error ends the start of the node.
	Open func(context.Context, Core) (Running, error)
}

// EventArchive lists events that are stored outside of the database. The zero value is none.
type EventArchive struct {
	About, Example, Flag string // are added to the help of the command

	// Open opens the archive at an address. An error of usage is one of package stream.
	Open func(ctx context.Context, address string, now func() time.Time, f recoup.EventFilter) (EventPages, error)
}

// EventPages returns a page of events, newest first, and where the next one begins; empty: it is
// the last.
type EventPages func(ctx context.Context, cursor string, limit int) (list []recoup.StoredEvent, next string, err error)

// Core is what a node offers to its slices.
type Core struct {
	DB          sqldb.DB
	Engine      *engine.Engine
	DeadLetters *deadletter.Service
	Ledger      *ledger.Ledger
	Audit       store.AuditWriter
	Secrets     Secrets
	Postgres    *postgres.Store        // for a slice that works on PostgreSQL alone; nil: the database is a file
	Process     string                 // the name of this process among all that share its database
	Batches     store.EventBatchWriter // nil: the store has none
	Files       store.EventFiler
	Policy      func() *policy.Policy // in force
	Settings    config.Values
	IDs         *recoup.IDSource
	Random      io.Reader
	Now         func() time.Time
	Jitter      func() float64 // in [0, 1), to spread retries
	Node        string         // the node's name, in logs
	Standby     bool           // the node answers reads and changes nothing
	Logger      *slog.Logger

	// Cached returns a collector that reads figures at most every few seconds.
	Cached func(read func(now time.Time) []prometheus.Metric) prometheus.Collector
}

// Secrets keeps platform keys, encrypted where the node has a master key.
type Secrets interface {
	AddFirstPlatformKey(ctx context.Context, k store.PlatformKey, act store.Act) (newest store.PlatformKey, added bool, err error)
}

// Running is what an open slice adds to a node. Fields that are not set add nothing.
type Running struct {
	Service    any // the first argument of the handlers of Slice.Routes
	Jobs       []scheduler.Job
	Folds      []func(context.Context) error // replace appended deltas by their sums; part of the job counts
	Loops      []Loop
	Background []func(context.Context) // run until their context ends
	Collectors []prometheus.Collector
	Sources    map[string]push.OpenSource // by the names of the slice's receivers

	// Checks gathers what the doctor is to judge, and returns how.
	Checks func(context.Context) []doctor.Check

	// PlanPolicy adds to a plan what a policy would change for the slice. ApplyPolicy refuses one
	// that an administrator applies to a running node.
	PlanPolicy  func(context.Context, *policy.Policy, *engine.Plan) error
	ApplyPolicy func(context.Context, *policy.Policy) error

	// Silent reports whether work comes without a notification, so that an idle node looks every
	// second.
	Silent func() bool

	// Idle runs whenever an idle node looks at its database, in place of the loops.
	Idle func(context.Context) error

	// Demo adds sample data. past lets acts happen by another clock until end is called; it
	// is nil where the database has a clock of its own, so that everything happens now.
	Demo func(ctx context.Context, past func(clock func() time.Time) (end func())) error

	// Close releases what the slice holds, when the node stops. What it cannot release must
	// expire.
	Close func(context.Context) error
}

// Loop is something that runs beside the requests: at least so often, and at once when the
// store wakes it. It does not run on a standby.
type Loop struct {
	Name  string
	Every time.Duration
	Wake  string // the store's channel; empty: none
	Run   func(context.Context) error
	Idle  func(context.Context) error // takes the place of Run on an idle node; nil: the loop waits until the node is awake
}
