// Package adoption is the running node's side of tables that were there before Recoup
// (decisions 0076 and 0084): every row that is a failure has one governed error, which
// follows the row, and the row is told what became of it. Triggers write down which rows
// have changed; nodes look at these rows as they are now and at what is known of them, and
// do what a table of rules says (verdict.go). So order and repetition do not matter, and a
// backfill is the same act on keys that come from a scan.
//
// What is made in the database for an adoption is package define's. Decisions about errors
// are the engine's.
package adoption

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	// Batch is how many rows are looked at together.
	Batch = 500

	// turnLasts is how long a node has the turn at an adoption, unless it asks again.
	turnLasts = 10 * time.Second

	// maxChanges is how many changes are looked at together, and maxIndexed how many
	// entities of those that wait are indexed in between.
	maxChanges = 500
	maxIndexed = 50_000

	// maxAtOnce is how many adoptions a node works at at the same time, maxPasses how often
	// before it looks what else there is, and turnBudget how long. A call of a source is not
	// interrupted for that.
	maxAtOnce  = 3
	maxPasses  = 50
	turnBudget = 10 * time.Second

	// After a failure an adoption is left alone for a while.
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// By is who reports and resolves the errors of source rows.
const By = "source"

// Options are what a service is made of.
type Options struct {
	Store    *DB
	Engine   *engine.Engine
	Key      func(context.Context) ([]byte, error) // digests of source rows are made with it
	Letters  *deadletter.Service                   // has the dead letters of jobs; its keys encrypt what errors keep of their rows
	Node     string                                // of this process, among all that share its database
	Now      func() time.Time
	Sleep    func(context.Context, time.Duration) error // nil: [retry.Sleep]
	Redactor *redact.Redactor                           // nil: the default rules
	Logger   *slog.Logger
}

// Service works at adoptions. It is safe for concurrent use.
type Service struct {
	Options

	mu      sync.Mutex
	states  map[int]*state
	served  int64 // how many turns have ended
	working sync.WaitGroup
	indexes atomic.Bool // index is running
	adopted atomic.Bool // there was an adopted table when it was last looked
	counted Counts
	key     []byte
}

// Counts is what a node has done since its start.
type Counts struct {
	Looked       int64 // rows that were looked at
	Reported     int64
	Resolved     int64
	Mirrored     int64
	Removed      int64 // rows that were moved or deleted when their errors were over
	Refused      int64 // rows that nothing could be made of, as they were
	Requeued     int64 // jobs of queues that were set off again
	DeadLettered int64 // errors of jobs that have become dead letters
}

// state is what a node remembers of an adoption. Only whoever works at it uses it.
type state struct {
	busy    bool
	owner   string    // of the table
	served  int64     // its last turn was the n-th
	until   time.Time // when the time of its turn is over; zero: there is no limit
	batch   int       // how many rows are read together; zero: Batch
	waiting time.Time // since then there have always been changes; zero: there are none
	failing bool
	pause   time.Duration
	rest    time.Time     // until then nothing is tried
	slow    time.Time     // until then the backfill waits
	fastest time.Duration // batch of the backfill
	partly  partly
	walk    *walk
	sweep   *sweep
	moved   int64 // how far the queue of errors that moved was looked at

	tended   time.Time // when its partitions were last looked at
	retries  time.Time // until then the jobs of a queue are left alone
	underway string    // the last key of those under way that was looked at
	parked   sqldb.Cursor
	lane     recoup.Lane // the last that work was claimed of
}

// partly is a change of which some keys were looked at, the first, when the time of the turn was
// over. What happens to their rows later is another change.
type partly struct {
	change int64
	keys   int
}

// walk is the way through all pairs of an adoption whose source was emptied.
type walk struct {
	changes []int64
	after   *string // nil: it begins
}

// New checks the options.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Engine == nil || o.Key == nil || o.Letters == nil || o.Node == "" || o.Now == nil || o.Logger == nil {
		return nil, errors.New("adoption: store, engine, key, letters, node, clock and logger are required")
	}
	if o.Redactor == nil {
		o.Redactor = redact.Default()
	}
	if o.Sleep == nil {
		o.Sleep = retry.Sleep
	}
	return &Service{Options: o, states: map[int]*state{}}, nil
}

// Counts returns what the node has done since its start.
func (s *Service) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted
}

func (s *Service) count(add func(*Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.counted)
}

// Run looks once what there is to do, and has it done. It does not wait for it: an
// adoption whose source is locked holds up no other.
func (s *Service) Run(ctx context.Context) error {
	list, err := s.Store.Adoptions(ctx)
	if err != nil {
		return err
	}
	s.adopted.Store(len(list) > 0)
	if len(list) == 0 {
		return nil
	}
	if err := s.begun(ctx); err != nil {
		return err
	}
	s.index(ctx, list)
	for a, st := range s.choose(list) {
		s.working.Go(func() {
			defer s.end(st)
			s.pursue(ctx, a, st)
		})
	}
	return nil
}

// Silent reports whether something is adopted: writers of its table notify no node.
func (s *Service) Silent() bool { return s.adopted.Load() }

// begin returns the state of an adoption at which there is something to do; nil if there
// is not, or somebody is at it.
func (s *Service) begin(a *Target) *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state(a.ID)
	if !s.ready(a, st) {
		return nil
	}
	st.busy, st.owner, st.until = true, a.Owner, time.Time{}
	return st
}

// state returns what is remembered of an adoption. The caller holds the lock.
func (s *Service) state(adoption int) *state {
	if s.states[adoption] == nil {
		s.states[adoption] = &state{}
	}
	return s.states[adoption]
}

// pending reports whether there is something to do at an adoption.
func (s *Service) pending(a *Target, st *state) bool {
	switch a.State {
	case wire.AdoptionReleasing:
		return true
	case wire.AdoptionBackfilling:
		return s.tends(a, st) || a.Changed || a.Moved || !s.Now().Before(st.slow) || s.retriesDue(a, st) || s.refusedDue(a)
	case wire.AdoptionGoverned:
		return s.tends(a, st) || a.Changed || a.Moved || s.retriesDue(a, st) || s.sweeps(a, st) || s.refusedDue(a)
	}
	return false
}

func (s *Service) end(st *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served++
	st.busy, st.served = false, s.served
}

// pursue works at an adoption until there is nothing more to do, or the time of its turn is
// over. A rest of the backfill is waited for: the next run may come much later.
func (s *Service) pursue(ctx context.Context, a *Target, st *state) {
	for range maxPasses {
		if s.spent(st) {
			return
		}
		more, err := s.work(ctx, a, st)
		if s.failed(ctx, a, st, err) {
			return
		}
		if rest := st.slow.Sub(s.Now()); !more && (rest <= 0 || rest > maxRest || s.Sleep(ctx, rest) != nil) {
			return
		}
	}
}

// failed notes how it went. A failure is logged once until it is over; what the database
// quotes of a row is redacted.
func (s *Service) failed(ctx context.Context, a *Target, st *state, err error) bool {
	switch {
	case err == nil:
		if st.failing {
			s.Logger.Info("adopted table is governed again", "table", a.Table)
		}
		st.failing, st.pause = false, 0
		return false
	case ctx.Err() != nil || errors.Is(err, store.ErrOutOfTurn) || errors.Is(err, store.ErrBusy):
		return true
	}
	if !st.failing {
		cause, _ := s.Redactor.String(err.Error())
		s.Logger.Warn("adopted table cannot be governed; it will be retried", "table", a.Table, "cause", cause)
	}
	st.failing, st.pause = true, min(max(2*st.pause, firstPause), lastPause)
	st.rest = s.Now().Add(st.pause)
	return true
}

// begun makes sure that there is a key, once something is adopted.
func (s *Service) begun(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return nil
	}
	key, err := s.Options.Key(ctx)
	if err == nil {
		s.key = key
	}
	return err
}

// Settle does all that there is to do, one adoption after the other, and returns when
// nothing is left: for tests, and for who has no loop.
func (s *Service) Settle(ctx context.Context) error {
	for {
		list, err := s.Store.Adoptions(ctx)
		if err != nil {
			return err
		}
		if err := s.begun(ctx); err != nil {
			return err
		}
		left := false
		for i := range list {
			st := s.begin(&list[i])
			if st == nil {
				continue
			}
			more, err := s.work(ctx, &list[i], st)
			s.end(st)
			if err != nil {
				return err
			}
			left = left || more
		}
		if !left {
			return nil
		}
	}
}

// Close waits for what is under way, whose context has ended, and lets other nodes have
// the turns.
func (s *Service) Close(ctx context.Context) error {
	s.working.Wait()
	s.Store.sources.closeAll()
	if s.key == nil {
		return nil // it never had one
	}
	return s.Store.EndTurns(ctx, s.Node)
}
