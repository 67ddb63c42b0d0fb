package engine_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/policy"
	"recoup/internal/store"
)

// The tables of spec 000, by the names the tests use.
const (
	dol       = "outreach.dol_errors"
	target    = "outreach.company_target_errors"
	people    = "people.people_errors"
	discovery = "company.url_discovery_failures"
	errorLog  = "public.shq_error_log"
	masterLog = "public.shq_master_error_log"
	orphans   = "public.shq_orphan_errors"
	letters   = "pipeline.dead_letters"
)

var epoch = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// database is what the tests need of a store beside what the engine needs.
type database interface {
	engine.Store
	SyncTables(ctx context.Context, p *policy.Policy) error
	SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error
	EnsurePartitions(ctx context.Context, now time.Time) error
	EnsureEventPartitions(ctx context.Context, now time.Time, retention time.Duration) error
	InsertEvents(ctx context.Context, events []store.Event) (int, error)
	Events(ctx context.Context, f store.EventFilter, p store.Page) ([]store.Event, store.Cursor, error)
	UseClock(clock func() time.Time)
	Close() error
}

// book is the engine's ledger in its simplest form: what is told is stored.
type book struct{ codes *fault.Registry }

func (b *book) Keep(_ time.Time, events []recoup.Event) []*store.Event {
	kept := make([]*store.Event, len(events))
	for i, e := range events {
		kept[i] = engine.OwnEvent(b.codes, e)
	}
	return kept
}

// world is an engine on a real store, with a clock that is moved by hand.
type world struct {
	*testing.T
	engine *engine.Engine
	db     database
	ledger *book
	sql    func(statement string, args ...any) error // nil: the store takes none

	mu  sync.Mutex
	now time.Time
}

var ada = engine.Caller{Name: "ada"}

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(newWorld(t, openSQLite(t), nil))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db, sql := openPostgres(t)
		test(newWorld(t, db, sql))
	})
}

func newWorld(t *testing.T, db database, sql func(string, ...any) error) *world {
	t.Helper()
	w := &world{T: t, db: db, ledger: &book{fault.Default()}, sql: sql, now: epoch}
	db.UseClock(w.clock)
	ctx, p := t.Context(), policy.Default()
	if err := errors.Join(db.SyncTables(ctx, p), db.SyncCodes(ctx, epoch, fault.Default().All()),
		db.EnsurePartitions(ctx, epoch), db.EnsureEventPartitions(ctx, epoch, p.Ledger.EventRetention)); err != nil {
		t.Fatal(err)
	}
	var err error
	w.engine, err = engine.New(engine.Options{
		Store: db, Ledger: w.ledger, Policies: engine.NewPolicies(p), Codes: fault.Default,
		Now: w.clock, IDs: recoup.NewIDSource(rand.Reader),
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

// failing is a report of a plain failure.
func failing(table, entity, code string) recoup.Report {
	return recoup.Report{Table: table, EntityID: entity, Code: code}
}

// report records failures that are expected to be accepted.
func (w *world) report(reports ...recoup.Report) []recoup.Error {
	w.Helper()
	out, err := w.engine.Report(w.Context(), ada, reports)
	if err != nil {
		w.Fatal(err)
	}
	made := make([]recoup.Error, len(out))
	for i := range out {
		if out[i].Err != nil {
			w.Fatalf("report %d: %v", i, out[i].Err)
		}
		made[i] = out[i].Error
	}
	return made
}

// act applies an input that is expected to be accepted.
func (w *world) act(act engine.Act) store.Outcome {
	w.Helper()
	out, err := w.engine.One(w.Context(), ada, act)
	if err != nil {
		w.Fatalf("%T: %v", act.Input, err)
	}
	return out
}

// read returns an error as the store has it.
func (w *world) read(id recoup.ID) recoup.Error {
	w.Helper()
	e, err := w.db.Error(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return e
}

// events returns the codes of what the ledger has, newest first.
func (w *world) events() []recoup.Code {
	w.Helper()
	list, _, err := w.db.Events(w.Context(), store.EventFilter{From: epoch.AddDate(0, -1, 0), To: epoch.AddDate(0, 1, 0)}, store.Page{Limit: store.MaxPage})
	if err != nil {
		w.Fatal(err)
	}
	codes := make([]recoup.Code, len(list))
	for i := range list {
		codes[i] = list[i].Code
	}
	return codes
}

// receipt makes a request harmless to repeat.
func (w *world) receipt(key, payload string) *store.Receipt {
	return &store.Receipt{Scope: "test", Key: key, Hash: sha256.Sum256([]byte(payload)), ExpiresAt: w.clock().Add(time.Hour)}
}

// wantFields holds an error to be a refusal of exactly these fields, which repeats
// none of the values.
func (w *world) wantFields(err error, values []string, fields ...string) {
	w.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.CodeValidationError {
		w.Fatalf("got %v, want a VALIDATION_ERROR", err)
	}
	var got []string
	for _, field := range f.Fields() {
		got = append(got, field.Field)
		for _, value := range values {
			if strings.Contains(field.Message, value) {
				w.Errorf("%s repeats what was sent: %s", field.Field, field.Message)
			}
		}
	}
	if strings.Join(got, " ") != strings.Join(fields, " ") {
		w.Errorf("refused %v, want %v", got, fields)
	}
}

// claimOne waits for an error to be due and leases it.
func (w *world) claimOne(e recoup.Error) recoup.Error {
	w.Helper()
	if d := e.NextRetryAt.Sub(w.clock()); d > 0 {
		w.wait(d)
	}
	claimed, err := w.engine.Claim(w.Context(), ada, engine.Claim{Tables: []string{e.Table}, Worker: "w1", Limit: 100})
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range claimed {
		if c.ID == e.ID {
			return c
		}
	}
	w.Fatalf("%v was not claimed", e.ID)
	return recoup.Error{}
}
