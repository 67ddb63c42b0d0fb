package deadletter_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/deadletter"
	"recoup/internal/engine"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/sqlite/sqlitetest"
)

var epoch = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// database is what the tests need of a store.
type database interface {
	deadletter.Store
	deadletter.KeyStore
	SyncTables(ctx context.Context, p *policy.Policy) error
	SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error
	Events(ctx context.Context, f store.EventFilter, p store.Page) ([]store.Event, store.Cursor, error)
	EnsurePartitions(ctx context.Context, now time.Time) error
	ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error)
	Notices(ctx context.Context, f store.NoticeFilter, p store.Page) ([]store.NoticeRecord, store.Cursor, error)
	History(ctx context.Context, id recoup.ID, limit int) ([]recoup.Transition, error)
	Audit(ctx context.Context, f store.AuditFilter, after store.AuditCursor, limit int) ([]store.AuditEntry, store.AuditCursor, error)
	UseClock(clock func() time.Time)
	Close() error
}

// world is a service on a real store, with a clock that is moved by hand.
type world struct {
	*testing.T
	*deadletter.Service
	db   database
	ids  *recoup.IDSource
	mu   sync.Mutex
	time time.Time
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

func opened(t *testing.T, db database, err error) database {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func newWorld(t *testing.T, db database) *world {
	t.Helper()
	w := &world{T: t, db: db, ids: recoup.NewIDSource(rand.Reader), time: epoch}
	db.UseClock(w.clock)
	ctx, p := t.Context(), policy.Default()
	w.must(errors.Join(db.SyncTables(ctx, p), db.SyncCodes(ctx, epoch, fault.Default().All()), db.EnsurePartitions(ctx, epoch)))
	keys, err := deadletter.NewKeyring(ctx, db, rand.Reader, epoch)
	w.must(err)
	w.Service, err = deadletter.New(deadletter.Options{
		Store: db, Policies: engine.NewPolicies(p), Codes: fault.Default, Keys: keys, Now: w.clock, IDs: w.ids,
	})
	w.must(err)
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.time
}

func (w *world) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time = w.time.Add(d)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// events returns what the ledger has, newest first.
func (w *world) events() []store.Event {
	w.Helper()
	list, _, err := w.db.Events(w.Context(), store.EventFilter{From: epoch.AddDate(0, -1, 0), To: epoch.AddDate(0, 2, 0)}, store.Page{Limit: store.MaxPage})
	w.must(err)
	return list
}

func (w *world) id() recoup.ID { return w.ids.New(w.clock()) }

const (
	pipeline = "criticizer"
	ada      = "ada"
)

// failing is work that failed for good.
func (w *world) failing(stage, class string) recoup.StageFailure {
	return recoup.StageFailure{
		WorkID: w.id(), Pipeline: pipeline, Stage: stage, Class: recoup.Code(class), LastStack: "upstream: " + class, FirstFailureAt: w.clock(), LastFailureAt: w.clock(),
		Context: map[string]any{"stage": stage, "attempts": map[string]any{stage: 1}}, PayloadRef: "s3://in/1", PayloadHash: "00ff",
	}
}

// bury records failures that are expected to be accepted.
func (w *world) bury(failures ...recoup.StageFailure) []store.Letter {
	w.Helper()
	done, err := w.Record(w.Context(), caller(ada), failures, nil)
	w.must(err)
	letters := make([]store.Letter, len(done))
	for i := range done {
		w.must(done[i].Err)
		letters[i] = done[i].Letter
	}
	return letters
}

// dead is one dead letter of a stage.
func (w *world) dead(stage, class string) recoup.ID {
	w.Helper()
	return w.bury(w.failing(stage, class))[0].Dead.ErrorID
}

// details is a dead letter as it is kept, and as it is shown.
type details struct {
	store.Letter
	recoup.DeadLetterDetails
}

func (w *world) read(id recoup.ID) details {
	w.Helper()
	shown, err := w.Letter(w.Context(), engine.Caller{}, id)
	w.must(err)
	kept, err := w.db.DeadLetter(w.Context(), id)
	w.must(err)
	return details{kept, shown}
}

// take does an act that is expected to be accepted.
func (w *world) take(id recoup.ID, in deadletter.Step) store.Letter {
	w.Helper()
	if t, ok := in.(deadletter.Triage); ok {
		in = w.looked(id, t)
	}
	done, err := w.Take(w.Context(), caller(ada), id, in, nil)
	w.must(err)
	return done.Letter
}

// looked is a triage by somebody who has looked at the dead letter.
func (w *world) looked(id recoup.ID, t deadletter.Triage) deadletter.Triage {
	w.Helper()
	d := w.read(id).Dead
	t.Stage, t.Class, t.Exhausted = d.Stage, d.Class, &d.Exhausted
	return t
}

var (
	triage    = deadletter.Triage{Cause: recoup.CauseData, Stage: "llm", Class: "VALIDATION_ERROR", Exhausted: new(bool)}
	remedy    = deadletter.Remediation{Link: "INC-1", Corrected: "the title"}
	validated = deadletter.Validation{Idempotent: true}
	delivered = deadletter.Verification{Outcome: recoup.Delivered, Note: "seen downstream"}
)

// prepared takes dead letters to where they can be replayed.
func (w *world) prepared(ids ...recoup.ID) {
	w.Helper()
	for _, id := range ids {
		for _, step := range []deadletter.Step{triage, remedy, validated} {
			w.take(id, step)
		}
	}
}

// replay begins a replay of named dead letters.
func (w *world) replay(ids ...recoup.ID) recoup.Replay {
	w.Helper()
	r, err := w.Replay(w.Context(), caller(ada), recoup.NewReplay{ReplaySelection: recoup.ReplaySelection{IDs: ids}, Reason: "corrected"})
	w.must(err)
	return r
}

// shown begins a replay of what a preview of a selection shows.
func (w *world) shown(sel recoup.ReplaySelection, plan recoup.ReplayPlan) (recoup.Replay, error) {
	w.Helper()
	p, err := w.Preview(w.Context(), caller(ada), sel)
	w.must(err)
	return w.Replay(w.Context(), caller(ada), recoup.NewReplay{Token: p.Token, Plan: plan, Reason: "corrected"})
}

// claim claims what there is of all stages.
func (w *world) claim(limit int) []deadletter.Claimed {
	w.Helper()
	var lanes []store.Lane
	for _, stage := range []string{"fetch", "llm", "notify"} {
		lanes = append(lanes, store.Lane{Pipeline: pipeline, Stage: stage})
	}
	list, err := w.Claim(w.Context(), engine.Caller{}, deadletter.Claim{Lanes: lanes, Worker: "w1", Limit: limit})
	w.must(err)
	return list
}

// say tells a result that is expected to be accepted.
func (w *world) say(q deadletter.Claimed, outcome string, failure ...recoup.StageFailure) store.Letter {
	w.Helper()
	r := deadletter.Result{WorkID: q.WorkID, Token: q.LeaseToken, Outcome: outcome}
	for _, f := range failure {
		r.Failure = f
	}
	done, err := w.Results(w.Context(), caller("worker key"), []deadletter.Result{r})
	w.must(err)
	w.must(done[0].Err)
	return done[0].Letter
}

// advance lets the clock act until there is nothing more to do at once.
func (w *world) advance() {
	w.Helper()
	for range 1000 {
		more, err := w.Advance(w.Context())
		w.must(err)
		if !more {
			return
		}
	}
	w.Fatal("there is no end to it")
}

// apply hands an input of the lifecycle to the store, as the engine does.
func (w *world) apply(id recoup.ID, in lifecycle.Input) error {
	now := w.clock()
	out, err := w.db.ApplySteps(w.Context(), now, []store.Step{{ID: id, Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(policy.Default(), current, in, now)
	}}})
	if err != nil {
		return err
	}
	return out[0].Err
}

// refused says with which code something was refused, and returns the details.
func (w *world) refused(err error, code recoup.Code) map[string]any {
	w.Helper()
	var said *fault.Error
	if !errors.As(err, &said) || said.Code != code {
		w.Fatalf("got %v, want %s", err, code)
	}
	return said.Details
}

// invalid says which fields were complained about.
func (w *world) invalid(err error, fields ...string) {
	w.Helper()
	var said *fault.Error
	if !errors.As(err, &said) || said.Code != fault.CodeValidationError {
		w.Fatalf("got %v, want a complaint about %v", err, fields)
	}
	got := map[string]bool{}
	for _, f := range said.Fields() {
		got[f.Field] = true
	}
	for _, f := range fields {
		if !got[f] {
			w.Errorf("nothing is said of %s: %v", f, said.Fields())
		}
	}
	if len(got) != len(fields) {
		w.Errorf("complained about %v, want %v", got, fields)
	}
}

// caller is somebody who may do everything.
func caller(name string) engine.Caller { return engine.Caller{Name: name} }
