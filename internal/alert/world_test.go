package alert_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/alert"
	"recoup/internal/engine"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/postgres"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/sqlite"
)

// database is what the tests need of a store beside what alerts need.
type database interface {
	engine.Store
	alert.Store
	SyncTables(ctx context.Context, p *policy.Policy) error
	SyncCodes(ctx context.Context, now time.Time, codes []*fault.Definition) error
	EnsurePartitions(ctx context.Context, now time.Time) error
	EnsureEventPartitions(ctx context.Context, now time.Time, retention time.Duration) error
	InsertEvents(ctx context.Context, events []store.Event) (int, error)
	AddProcessed(ctx context.Context, counts []store.Processed) error
	Lead(ctx context.Context, b store.Bid) (store.Term, bool, error)
	Notices(ctx context.Context, f store.NoticeFilter, p store.Page) ([]store.NoticeRecord, store.Cursor, error)
	AddSilence(ctx context.Context, s recoup.Silence, act store.Act) (recoup.Silence, error)
	UseClock(clock func() time.Time)
	Close() error
}

// world is the real engine and the real evaluator on a real store.
type world struct {
	*testing.T
	db     database
	engine *engine.Engine
	alerts *alert.Evaluator
	ids    *recoup.IDSource
	now    time.Time
	made   int
}

// silent is a ledger that nothing is written to: events are inserted by hand.
type silent struct{}

func (silent) Keep(_ time.Time, events []recoup.Event) []*store.Event {
	return make([]*store.Event, len(events))
}

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "recoup.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(newWorld(t, s))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		_, url := pgtest.Migrated(t)
		s, err := postgres.Open(t.Context(), url, postgres.Options{MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		test(newWorld(t, s))
	})
}

func newWorld(t *testing.T, db database) *world {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{T: t, db: db, ids: recoup.NewIDSource(rand.Reader), now: epoch}
	ctx, p := t.Context(), policy.Default()
	policies := engine.NewPolicies(p)
	clock := func() time.Time { return w.now }
	db.UseClock(clock)
	var err error
	w.engine, err = engine.New(engine.Options{Store: db, Ledger: silent{}, Policies: policies, Codes: fault.Default, Now: clock, IDs: w.ids})
	if err := errors.Join(err, db.SyncTables(ctx, p), db.SyncCodes(ctx, epoch, fault.Default().All()),
		db.EnsurePartitions(ctx, epoch), db.EnsureEventPartitions(ctx, epoch, p.Ledger.EventRetention)); err != nil {
		t.Fatal(err)
	}
	w.alerts = &alert.Evaluator{Store: db, Policies: policies.Current, Codes: fault.Default, Now: clock, IDs: w.ids}
	return w
}

// must fails the test if something could not be done.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wait(d time.Duration) { w.now = w.now.Add(d) }

// report reports n failures of as many entities.
func (w *world) report(n int, table, code string) []recoup.Error {
	w.Helper()
	var made []recoup.Error
	for len(made) < n {
		reports := make([]recoup.Report, min(n-len(made), 500))
		for i := range reports {
			w.made++
			reports[i] = recoup.Report{Table: table, EntityID: fmt.Sprintf("e%d", w.made), Code: code}
		}
		out, err := w.engine.Report(w.Context(), engine.Caller{Name: "ada"}, reports)
		w.must(err)
		for i := range out {
			w.must(out[i].Err)
			made = append(made, out[i].Error)
		}
	}
	return made
}

func (w *world) act(id recoup.ID, in lifecycle.Input) {
	w.Helper()
	_, err := w.engine.One(w.Context(), engine.Caller{Name: "ada"}, engine.Act{ID: id, Input: in})
	w.must(err)
}

// claim leases what is due in a table.
func (w *world) claim(table string) []recoup.Error {
	w.Helper()
	list, err := w.engine.Claim(w.Context(), engine.Caller{Name: "ada"}, engine.Claim{Tables: []string{table}, Worker: "w1", Limit: 1000, Lease: time.Minute})
	w.must(err)
	return list
}

// processed counts work of a table or, without one, requests of a service.
func (w *world) processed(table, service string, n, failed int64) {
	w.Helper()
	w.must(w.db.AddProcessed(w.Context(), []store.Processed{{Minute: store.Minute(w.now), Table: table, Service: service, N: n, Failed: failed}}))
}

// events lets n events happen.
func (w *world) events(n int, code recoup.Code, provider string) {
	w.Helper()
	list := make([]store.Event, n)
	for i := range list {
		list[i] = store.Event{Event: recoup.Event{ID: w.ids.New(w.now), TS: w.now, Code: code, Service: "api", ExternalService: provider, CorrelationID: w.ids.New(w.now)}}
	}
	_, err := w.db.InsertEvents(w.Context(), list)
	w.must(err)
}

func (w *world) term() store.Term {
	w.Helper()
	term, held, err := w.db.Lead(w.Context(), store.Bid{Name: "clockwork", Node: "n1", Now: w.now, Tenure: time.Hour})
	if err != nil || !held {
		w.Fatalf("it does not lead: %v", err)
	}
	return term
}

// evaluate judges, and returns what is open then, as rule and scope.
func (w *world) evaluate() []string {
	w.Helper()
	_, err := w.alerts.Run(w.Context(), w.term())
	w.must(err)
	open, err := w.db.OpenAlerts(w.Context())
	w.must(err)
	var list []string
	for _, a := range open {
		list = append(list, fmt.Sprintf("%s %s %s", a.Rule, a.Scope, a.State))
	}
	return list
}

// alert returns the open alert of a rule.
func (w *world) alert(rule string) recoup.Alert {
	w.Helper()
	open, err := w.db.OpenAlerts(w.Context())
	w.must(err)
	i := slices.IndexFunc(open, func(a recoup.Alert) bool { return a.Rule == rule })
	if i < 0 {
		w.Fatalf("there is no alert of %s: %+v", rule, open)
	}
	return open[i]
}

// heard returns the notices of the outbox that tell that a rule holds.
func (w *world) heard(rule string) []told {
	w.Helper()
	notices, _, err := w.db.Notices(w.Context(), store.NoticeFilter{Kind: recoup.NoticeAlert}, store.Page{Limit: store.MaxPage})
	w.must(err)
	var list []told
	for _, n := range notices {
		one := told{Notice: n.Notice}
		w.must(json.Unmarshal([]byte(n.Body), &one.Body))
		if slices.ContainsFunc(one.Alerts, func(l alert.Line) bool { return l.Rule == rule }) {
			list = append(list, one)
		}
	}
	return list
}
