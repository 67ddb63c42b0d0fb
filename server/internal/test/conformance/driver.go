package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// TB is what a driver needs of a test. *testing.T has it, and so has *rapid.T.
type TB interface {
	rapid.TB
	Context() context.Context
}

// Driver leads errors through their lives in a store, with the real state
// machine, the default policy and a clock that is moved by hand. It remembers
// everything that the store has acknowledged, and [Driver.Check] holds the store
// to it. The methods that return an error are safe for concurrent use; the
// others end the test and belong to its own goroutine.
type Driver struct {
	TB
	Store  Store
	Policy *policy.Policy

	ids   *recoup.IDSource
	order atomic.Int64 // of decisions
	calls atomic.Int64

	mu      sync.Mutex
	now     time.Time
	book    book
	journal *journal
}

// Epoch is when the clock of every driver begins.
func Epoch() time.Time { return time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC) }

// NewDriver makes a store ready for the default policy and takes the wheel.
func NewDriver(t TB, s Store) *Driver {
	t.Helper()
	d := &Driver{TB: t, Store: s, Policy: policy.Default(), ids: recoup.NewIDSource(rand.Reader), book: newBook()}
	if err := s.SyncTables(t.Context(), d.Policy); err != nil {
		t.Fatalf("tables: %v", err)
	}
	d.WaitUntil(Epoch())
	return d
}

// Now returns the time of the driver's clock.
func (d *Driver) Now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// Wait moves the clock on.
func (d *Driver) Wait(by time.Duration) {
	d.Helper()
	d.WaitUntil(d.Now().Add(by))
}

// WaitUntil sets the clock, and lets the store prepare for the new time as the
// platform's own scheduler does.
func (d *Driver) WaitUntil(t time.Time) {
	d.Helper()
	d.mu.Lock()
	before := d.now
	d.now = t
	d.mu.Unlock()
	if before.Year() == t.Year() && before.Month() == t.Month() {
		return
	}
	if err := d.Store.EnsurePartitions(d.Context(), t); err != nil {
		d.Fatalf("partitions for %v: %v", t, err)
	}
}

// ID returns a fresh id.
func (d *Driver) ID() recoup.ID { return d.ids.New(d.Now()) }

// Failure classifies a code as the registry does, with nothing proven.
func Failure(code recoup.Code) lifecycle.Failure {
	def, ok := fault.Default().Lookup(code)
	if !ok {
		panic("not registered: " + code)
	}
	return lifecycle.Failure{Code: code, Class: def.Effective(false), Category: def.Category}
}

// Failing returns a report of a failure, to be changed at will and handed to
// [Driver.TryReport].
func (d *Driver) Failing(table, entity string, code recoup.Code, severity recoup.Severity) lifecycle.Report {
	return lifecycle.Report{ID: d.ID(), Table: table, EntityID: entity, Failure: Failure(code), Severity: severity}
}

// Act is an input to a stored error.
type Act struct {
	ID    recoup.ID
	Input lifecycle.Input
}

// TryReport hands reports to the store in one verb.
func (d *Driver) TryReport(ctx context.Context, reports ...lifecycle.Report) ([]store.Outcome, error) {
	batch := make([]store.Report, len(reports))
	decisions := d.call(len(reports))
	for i, in := range reports {
		batch[i] = d.report(in, &decisions[i])
	}
	return d.verb(decisions, func() ([]store.Outcome, error) { return d.Store.Report(ctx, d.Now(), batch) })
}

// report finds the family that counts a failure, as the engine does before it
// asks a store.
func (d *Driver) report(in lifecycle.Report, into *decision) store.Report {
	effective := d.Policy.Resolve(policy.Question{
		Table: in.Table, Entity: in.EntityID != "", Code: in.Failure.Code,
		Class: in.Failure.Class, Category: in.Failure.Category, Severity: in.Severity,
	})
	r := store.Report{Table: in.Table, Entity: in.EntityID, Code: in.Failure.Code}
	if effective.Family != nil {
		r.Family = effective.Family.Name
	}
	r.Decide = d.decide(into, in)
	return r
}

// TryAdmit reports a row that plain SQL has written, so that it becomes governed.
func (d *Driver) TryAdmit(ctx context.Context, row recoup.Error) ([]store.Outcome, error) {
	in := d.Failing(row.Table, row.EntityID, row.Code, row.Severity)
	in.ID, in.CreatedAt, in.Message, in.CorrelationID = row.ID, row.CreatedAt, row.Message, row.CorrelationID
	decisions := d.call(1)
	r := d.report(in, &decisions[0])
	r.Admits = row.ID
	return d.verb(decisions, func() ([]store.Outcome, error) {
		return d.Store.Report(ctx, d.Now(), []store.Report{r})
	})
}

// TryActs hands inputs to the store in one verb.
func (d *Driver) TryActs(ctx context.Context, acts ...Act) ([]store.Outcome, error) {
	batch := make([]store.Step, len(acts))
	decisions := d.call(len(acts))
	for i, act := range acts {
		batch[i] = store.Step{
			ID:     act.ID,
			Family: func(e *recoup.Error) string { return lifecycle.Family(d.Policy, e, act.Input) },
			Decide: d.decide(&decisions[i], act.Input),
		}
	}
	return d.verb(decisions, func() ([]store.Outcome, error) { return d.Store.ApplySteps(ctx, d.Now(), batch) })
}

// TryClaim claims due errors of the tables for a worker. Each gets a token of
// its own and the policy's default lease.
func (d *Driver) TryClaim(ctx context.Context, worker string, limit int, tables ...string) ([]recoup.Error, error) {
	return d.TryClaimBut(ctx, worker, limit, nil, tables...)
}

// TryClaimBut is TryClaim that passes over some errors.
func (d *Driver) TryClaimBut(ctx context.Context, worker string, limit int, without []recoup.ID, tables ...string) ([]recoup.Error, error) {
	for {
		var decisions []decision
		call := d.calls.Add(1)
		claim := store.Claim{Tables: tables, Limit: limit, Now: d.Now(), Without: without}
		claim.Decide = func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			made := decision{call: call, item: len(decisions)}
			next, effects, err := d.decide(&made, lifecycle.Claim{Token: d.ID(), Worker: worker})(current, 0, now)
			decisions = append(decisions, made)
			return next, effects, err
		}
		claimed, err := d.Store.ClaimDue(ctx, claim)
		if errors.Is(err, store.ErrBusy) {
			continue
		}
		if err == nil {
			d.learnClaims(decisions, claimed)
			d.journal.acknowledged(call)
		}
		return claimed, err
	}
}

// call makes room for the decisions of one verb.
func (d *Driver) call(items int) []decision {
	call := d.calls.Add(1)
	decisions := make([]decision, items)
	for i := range decisions {
		decisions[i] = decision{call: call, item: i}
	}
	return decisions
}

// verb runs a verb until the store is not busy, and learns from it.
func (d *Driver) verb(decisions []decision, run func() ([]store.Outcome, error)) ([]store.Outcome, error) {
	for {
		outcomes, err := run()
		if errors.Is(err, store.ErrBusy) {
			continue
		}
		if err == nil {
			d.learn(decisions, outcomes)
			if len(decisions) > 0 {
				d.journal.acknowledged(decisions[0].call)
			}
		}
		return outcomes, err
	}
}

// decision is what the state machine said when the store asked. The store asks
// while it holds the error, so that the order of decisions on one error is the
// order in which they take effect. If it starts over, the last answer counts.
type decision struct {
	call  int64 // the verb it belongs to
	item  int   // of the verb's batch
	order int64 // zero: the store has not asked
	store.Outcome
}

func (d *Driver) decide(into *decision, in lifecycle.Input) store.Decide {
	now := d.Now()
	return func(current *recoup.Error, streak int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		next, effects, err := lifecycle.Step(d.Policy, current, counted(in, streak), now)
		into.order = d.order.Add(1)
		into.Outcome = store.Outcome{Error: next, Effects: effects, Err: err}
		d.journal.decided(*into)
		return next, effects, err
	}
}

// counted sets how many of a failure's family came before it.
func counted(in lifecycle.Input, streak int) lifecycle.Input {
	switch in := in.(type) {
	case lifecycle.Report:
		in.Failure.Streak = streak
		return in
	case lifecycle.Fail:
		in.Failure.Streak = streak
		return in
	}
	return in
}
