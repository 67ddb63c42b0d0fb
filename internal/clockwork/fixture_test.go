package clockwork_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/alert"
	"recoup/internal/clockwork"
	"recoup/internal/engine"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/sqlite/sqlitetest"
)

const (
	dol    = "outreach.dol_errors"
	people = "people.people_errors"
)

var epoch = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// database is what the tests need of a store.
type database interface {
	engine.Store
	clockwork.Store
	clockwork.Keeper
	SyncTables(ctx context.Context, p *policy.Policy) error
	SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error
	InsertEvents(ctx context.Context, events []store.Event) (int, error)
	Events(ctx context.Context, f store.EventFilter, p store.Page) ([]store.Event, store.Cursor, error)
	Daily(ctx context.Context, f store.DailyFilter, from, to time.Time) ([]store.DailyCount, error)
	TopCodes(ctx context.Context, span store.Span, limit int) ([]store.CodeCount, error)
	PendingNotices(ctx context.Context, limit int) ([]store.PendingNotice, error)
	ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]store.PendingNotice, error)
	WaitingNotices(ctx context.Context, kind recoup.NoticeKind, errors []recoup.ID) ([]store.PendingNotice, error)
	FinishNotices(ctx context.Context, now time.Time, deliveries []store.Delivery) (int, error)
	AddProcessed(ctx context.Context, counts []store.Processed) error
	ResendNotices(ctx context.Context, ids []recoup.ID, act store.Act) (int, error)
	AddSilence(ctx context.Context, s recoup.Silence, act store.Act) (recoup.Silence, error)
	CountDrops(ctx context.Context, drops []store.Drop) error
	alert.Store
	CreateBatch(ctx context.Context, id string, now time.Time) (recoup.Batch, error)
	StepBatch(ctx context.Context, id string, decide store.DecideCase) (recoup.Batch, error)
	ImportIntakes(ctx context.Context, batch string, now time.Time, intakes []recoup.Intake) (store.Imported, error)
	RecordResults(ctx context.Context, steps []store.CaseStep) ([]store.CaseOutcome, error)
	Batch(ctx context.Context, id string) (recoup.IntakeBatch, error)
	UseClock(clock func() time.Time)
	Close() error
}

// book is the engine's ledger in its simplest form: what is told is stored.
type book struct{}

func (book) Keep(_ time.Time, events []recoup.Event) []*store.Event {
	kept := make([]*store.Event, len(events))
	for i, e := range events {
		kept[i] = engine.OwnEvent(fault.Default(), e)
	}
	return kept
}

// world is an engine on a real store, with a clock that is moved by hand.
type world struct {
	*testing.T
	db     database
	engine *engine.Engine

	mu  sync.Mutex
	now time.Time
}

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(newWorld(t, sqlitetest.Open(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(newWorld(t, pgtest.Open(t)))
	})
}

func newWorld(t *testing.T, db database) *world {
	t.Helper()
	w := &world{T: t, db: db, now: epoch}
	db.UseClock(w.clock)
	ctx, p := t.Context(), policy.Default()
	if err := errors.Join(db.SyncTables(ctx, p), db.SyncCodes(ctx, epoch, fault.Default().All()),
		db.EnsurePartitions(ctx, epoch), db.EnsureEventPartitions(ctx, epoch, p.Ledger.EventRetention)); err != nil {
		t.Fatal(err)
	}
	var err error
	w.engine, err = engine.New(engine.Options{
		Store: db, Ledger: book{}, Policies: engine.NewPolicies(p), Codes: fault.Default, Now: w.clock, IDs: recoup.NewIDSource(rand.Reader),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// jobs are the real ones.
func (w *world) jobs() []clockwork.Job {
	return clockwork.All(clockwork.Parts{Store: w.db, Engine: w.engine, Policy: w.engine.Policies.Current})
}

// node is the clock of a node.
func (w *world) node(name string, jobs ...clockwork.Job) *clockwork.Clock {
	w.Helper()
	c, err := clockwork.New(clockwork.Options{
		Store: w.db, Node: name, Now: w.clock, Tell: func() string { return "platform-team" }, Jobs: jobs,
	})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *world) tick(c *clockwork.Clock) {
	w.Helper()
	if err := c.Tick(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// known returns what the store knows of a job.
func (w *world) known(name string) store.Job {
	w.Helper()
	list, err := w.db.Jobs(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, j := range list {
		if j.Name == name {
			return j
		}
	}
	return store.Job{}
}

// notices returns the kinds of what waits to be told, oldest first.
func (w *world) notices() []recoup.NoticeKind {
	w.Helper()
	list, err := w.db.PendingNotices(w.Context(), store.MaxPage)
	if err != nil {
		w.Fatal(err)
	}
	kinds := make([]recoup.NoticeKind, len(list))
	for i := range list {
		kinds[i] = list[i].Kind
	}
	return kinds
}

// report records failures that are expected to be accepted.
func (w *world) report(reports ...recoup.Report) []recoup.Error {
	w.Helper()
	out, err := w.engine.Report(w.Context(), engine.Caller{Name: "ada"}, reports)
	if err != nil {
		w.Fatal(err)
	}
	made := make([]recoup.Error, len(out))
	for i := range out {
		if out[i].Err != nil {
			w.Fatal(out[i].Err)
		}
		made[i] = out[i].Error
	}
	return made
}

// act applies an input that is expected to be accepted.
func (w *world) act(act engine.Act) {
	w.Helper()
	if _, err := w.engine.One(w.Context(), engine.Caller{Name: "ada"}, act); err != nil {
		w.Fatalf("%T: %v", act.Input, err)
	}
}

func (w *world) read(id recoup.ID) recoup.Error {
	w.Helper()
	e, err := w.db.Error(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return e
}
