// Package postgres keeps errors in PostgreSQL 13 and newer. It moves rows and
// decides nothing: every verb locks what it needs, asks the function it was
// handed, and writes the answer, in one transaction. Claims and results of errors
// that agree with one decided before are written by that decision (store.DecisionCache),
// all of them in one statement. What correct means is package conformance.
//
// The schema is migrations/*.sql. Guards in the database refuse what the rules
// forbid, whoever asks: this package, a script, a person at a prompt.
package postgres

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// ErrBadURL is returned for an address that cannot be read. It does not repeat
// the address, which may hold a password.
var ErrBadURL = errors.New("the database URL cannot be read: expected postgres://user@host/database")

// Options of a store. The zero value is good.
type Options struct {
	MaxConns         int32         // zero: 10, or what the URL says (pool_max_conns)
	LockTimeout      time.Duration // how long a verb waits for a lock at a time; zero: 3 s
	StatementTimeout time.Duration // zero: 30 s
	Name             string        // application_name; empty: recoup
	Adoption         string        // the address at which adopted tables are reached; empty: that of PostgreSQL itself
	Direct           string        // the address of PostgreSQL itself, to listen at; empty: the store's own, or polling if that is a pooler's
	SchemaOwner      string        // the owner of the schema that the user trusts; empty: see [pgsession.Owner.Check]
}

func (o Options) withDefaults() Options {
	if o.LockTimeout <= 0 {
		o.LockTimeout = 3 * time.Second
	}
	if o.StatementTimeout <= 0 {
		o.StatementTimeout = 30 * time.Second
	}
	if o.Name == "" {
		o.Name = "recoup"
	}
	return o
}

// Store is a database of errors. It is safe for concurrent use.
type Store struct {
	sqlops.Ops
	pool     *pool
	vital    *pool // of the gate and the keys, which must not wait behind the rest
	sql      statements
	gates    gateCheck
	blockers []Blockers // of slices
	granted  privileges // what this role may do, as it was at the start
	trouble  store.LastError
	clock    func() time.Time // nil: the database's
	notifier store.Notifier   // what this node has committed
	hearing  *pgx.ConnConfig  // where it hears of what others have; nil: nowhere
	stop     func()           // notifying other nodes of it
	claimed  atomic.Int64     // tickets of staged work, since the start
	starts   laneStarts
	ledger   ledgerGate
	rest     rest

	lockTimeouts atomic.Int64 // statements that did not get a lock, since LockHolders was called
	login        *pgx.ConnConfig
	options      Options
	url          string
	looks        []Look // of slices
	examine      []func(context.Context, *store.Facts)

	memory            *store.DecisionCache // decisions that stand for others
	marks             marks                // how far this node has claimed
	failureStatements failureStatements    // the statements that apply them
}

// Open connects to a migrated database. A schema that is not the one this
// binary knows is refused; [Migrate] brings it up to date.
func Open(ctx context.Context, url string, options Options) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, ErrBadURL
	}
	options = options.withDefaults()
	switch {
	case options.MaxConns > 0:
		config.MaxConns = options.MaxConns
	case !strings.Contains(url, "pool_max_conns"):
		config.MaxConns = 10 // the ledger, the gate, the clock and the notifier hold some of them most of the time
	}
	follow(config.ConnConfig)
	configure(config.ConnConfig, options)
	s := &Store{sql: newStatements(), gates: newGateCheck(nil), memory: &store.DecisionCache{}, rest: rest{reached: make(chan struct{}, 1)}}
	s.Ops = sqlops.New(database{s})
	s.login, s.options, s.url = config.ConnConfig.Copy(), options, url
	if options.Direct != "" {
		if s.login, err = parse(options.Direct); err != nil {
			return nil, err
		}
	}
	s.watch(config.ConnConfig)
	config.ShouldPing = pingIdle
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		acceptEncoded(conn.TypeMap())
		return nil
	}
	if err := s.connect(ctx, config, options); err != nil {
		return nil, failure("open", err)
	}
	if err := s.prepare(ctx, options); err != nil {
		s.disconnect()
		return nil, err
	}
	s.stop = s.startNotifying()
	return s, nil
}

// prepare checks what is behind the connections, and reads what does not change.
func (s *Store) prepare(ctx context.Context, o Options) (err error) {
	if s.Polls() {
		if err := s.checkPooler(ctx); err != nil {
			return err
		}
	}
	owner, err := s.checkOwner(ctx, o.SchemaOwner)
	if err != nil {
		return err
	}
	if err := checkSchema(ctx, stdlib.OpenDBFromPool(s.pool.Pool), owner.Schema != ""); err != nil {
		return err
	}
	if o.Direct != "" {
		if err := s.useDirect(ctx, o.Direct, o); err != nil {
			return err
		}
	}
	s.granted, err = s.privileges(ctx)
	return err
}

// vitalConns is how many connections are kept for what is vital, where there are
// enough to divide.
const vitalConns = 2

// connect divides the connections. Whoever asks the gate never waits for one that
// reports, claims and lists have taken.
func (s *Store) connect(ctx context.Context, config *pgxpool.Config, o Options) error {
	shared, err := pooled(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	settings := ""
	if shared {
		settings = share(config.ConnConfig, o)
	} else {
		s.hearing = config.ConnConfig.Copy()
	}
	if config.MaxConns < 3*vitalConns {
		s.pool, err = newPool(ctx, config, settings)
		s.vital = s.pool
		return err
	}
	own := config.Copy()
	own.MaxConns, own.MinConns, own.MinIdleConns = vitalConns, 0, 0
	config.MaxConns -= vitalConns
	if s.pool, err = newPool(ctx, config, settings); err != nil {
		return err
	}
	if s.vital, err = newPool(ctx, own, settings); err != nil {
		s.pool.Close()
	}
	return err
}

// renew has every session made anew, as soon as whoever uses it is done.
func (s *Store) renew() {
	s.pool.Reset()
	s.vital.Reset()
}

func (s *Store) disconnect() {
	s.pool.Close()
	if s.vital != s.pool {
		s.vital.Close()
	}
}

// parse reads an address. Every session begins with the settings of [pgsession.Start], whatever the
// address, the role or the database sets.
func parse(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, ErrBadURL
	}
	follow(config)
	pgsession.Start(config)
	return config, nil
}

// connectPatience is how long a host may take to answer a new connection, unless the
// address says otherwise (connect_timeout): the next one may be the primary by now.
const connectPatience = 5 * time.Second

// follow has an address of several hosts mean the one that takes writes, as
// target_session_attrs=read-write says: whichever that is when a connection is made.
func follow(config *pgx.ConnConfig) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectPatience
		config.DialFunc = (&net.Dialer{Timeout: connectPatience, KeepAlive: keepAlive}).DialContext
	}
	several := slices.ContainsFunc(config.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != config.Host || f.Port != config.Port })
	if several && config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
}

// keepAlive is how often the system asks whether the other end of a silent connection is
// there: a host that is gone without a word is noticed within a minute or two.
const keepAlive = 15 * time.Second

// configure sets what sessions rely on. Statements are prepared, because values
// are read in the format that prepared statements return.
func configure(config *pgx.ConnConfig, o Options) {
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	pgsession.Start(config)
	maps.Copy(config.RuntimeParams, sessionSettings(o))
	config.RuntimeParams["application_name"] = o.Name
}

// sessionSettings is what statements rely on, beside [pgsession.Start].
func sessionSettings(o Options) map[string]string {
	return map[string]string{
		"lock_timeout":                        milliseconds(o.LockTimeout),
		"statement_timeout":                   milliseconds(o.StatementTimeout),
		"idle_in_transaction_session_timeout": milliseconds(2 * o.StatementTimeout),
		// Compiling costs more than any of our statements, and each has its index:
		// a plan that was made while a table was small has to stay good.
		"jit":            "off",
		"enable_seqscan": "off",
	}
}

// UseClock lets acts happen by another clock than the database's own, which is what
// makes nodes agree: it is for tests, and called before the first act.
func (s *Store) UseClock(clock func() time.Time) { s.clock = clock }

// Time returns the database's time, by which its nodes set their clocks.
func (s *Store) Time(ctx context.Context) (now time.Time, err error) {
	err = s.pool.QueryRow(ctx, "select recoup.clock()").Scan(&now)
	return now, failure("read the clock", err)
}

// Close ends all sessions.
func (s *Store) Close() error {
	s.stop()
	s.disconnect()
	return nil
}

// milliseconds formats a duration as PostgreSQL's settings take it.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
