package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// memory is the simplest store that keeps the contract: maps under one lock.
// The suite is tried on it, and on copies of it that are broken on purpose.
type memory struct {
	mu       sync.Mutex
	policy   *policy.Policy
	open     map[recoup.ID]*recoup.Error
	archived map[recoup.ID]*recoup.Error
	history  map[recoup.ID][]recoup.Transition
	streaks  map[store.StreakKey]int
	outbox   []wire.Notice
	gate     []store.GateEntry
	receipts map[store.ReceiptKey]store.StoredReceipt

	claimable func(e *recoup.Error, now time.Time) bool
	wrong     func(e *recoup.Error) string
	keeps     func(t *policy.Table) time.Duration // how long history is kept for a table
}

func newMemory() *memory {
	m := &memory{
		open: map[recoup.ID]*recoup.Error{}, archived: map[recoup.ID]*recoup.Error{},
		history: map[recoup.ID][]recoup.Transition{}, streaks: map[store.StreakKey]int{},
		receipts:  map[store.ReceiptKey]store.StoredReceipt{},
		claimable: claimable,
		keeps:     func(t *policy.Table) time.Duration { return t.TTL + t.Retention },
	}
	m.wrong = m.guard
	return m
}

func (m *memory) Close() error { return nil }

func (m *memory) SyncTables(_ context.Context, p *policy.Policy, _ ...store.SyncPolicy) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.policy = p
	return nil
}

func (m *memory) EnsurePartitions(_ context.Context, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	longest := time.Duration(0)
	for _, t := range m.policy.Tables() {
		longest = max(longest, m.keeps(t))
	}
	for id, rows := range m.history {
		m.history[id] = slices.DeleteFunc(rows, func(t recoup.Transition) bool { return t.At.Before(now.Add(-longest)) })
	}
	return nil
}

func (m *memory) FoldCounts(context.Context) error { return nil }

func (m *memory) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, outcomes := m.report(now, reports)
	return outcomes, m.commit(ctx, w, now)
}

func (m *memory) PreviewReports(_ context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, outcomes := m.report(now, reports)
	return outcomes, nil
}

func (m *memory) report(now time.Time, reports []store.Report) (*store.UnitOfWork, []store.Outcome) {
	w := m.begin(m.named(reports), now)
	outcomes := make([]store.Outcome, len(reports))
	for i, r := range reports {
		outcomes[i] = w.Report(r)
	}
	return w, outcomes
}

func (m *memory) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []*recoup.Error
	for _, s := range steps {
		if e, ok := m.find(s.ID); ok && !slices.Contains(rows, e) {
			rows = append(rows, e)
		}
	}
	w := m.begin(rows, now)
	outcomes := make([]store.Outcome, len(steps))
	for i, s := range steps {
		outcomes[i] = w.Step(s)
	}
	return outcomes, m.commit(ctx, w, now)
}

func (m *memory) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	due := m.pick(m.open, func(e *recoup.Error) bool {
		return slices.Contains(claim.Tables, e.Table) && m.claimable(e, claim.Now) && !slices.Contains(claim.Without, e.ID)
	})
	slices.SortStableFunc(due, func(a, b *recoup.Error) int { return a.NextRetryAt.Compare(b.NextRetryAt) })
	due = due[:min(len(due), claim.Limit)]
	w := m.begin(due, claim.Now)
	decide := func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		return claim.Decide(current, now)
	}
	var claimed []recoup.Error
	for _, e := range due {
		out := w.Step(store.Step{ID: e.ID, Decide: decide, EventOf: claim.EventOf})
		if out.Err == nil && !out.Error.LeaseToken.IsZero() {
			claimed = append(claimed, out.Error)
		}
	}
	return claimed, m.commit(ctx, w, claim.Now)
}

// claimable is the due predicate: what of the state machine a store repeats.
func claimable(e *recoup.Error, now time.Time) bool {
	return e.State == recoup.RetryPending && !e.NextRetryAt.After(now) &&
		(e.ExpiresAt.IsZero() || now.Before(e.ExpiresAt)) &&
		(!e.LeaseToken.IsZero() || e.WindowEndsAt.IsZero() || !now.After(e.WindowEndsAt))
}

func (m *memory) PurgeArchive(_ context.Context, now time.Time, limit int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	over := m.pick(m.archived, func(e *recoup.Error) bool { return !e.PurgeAt.After(now) })
	over = over[:min(len(over), limit)]
	for _, e := range over {
		delete(m.archived, e.ID)
	}
	return len(over), nil
}

// named returns the open errors that reports may replace or admit.
func (m *memory) named(reports []store.Report) []*recoup.Error {
	keys, admitted := map[recoup.Identity]bool{}, map[recoup.ID]bool{}
	for _, r := range reports {
		keys[r.Key()], admitted[r.Admits] = true, true
	}
	return m.pick(m.open, func(e *recoup.Error) bool {
		return admitted[e.ID] || keys[e.Identity()]
	})
}

func (m *memory) find(id recoup.ID) (*recoup.Error, bool) {
	if e, ok := m.open[id]; ok {
		return e, true
	}
	e, ok := m.archived[id]
	return e, ok
}

func (m *memory) begin(rows []*recoup.Error, now time.Time) *store.UnitOfWork {
	w := store.NewUnitOfWork(now, values(rows))
	w.Receipts = m.known(now)
	for k, n := range m.streaks {
		w.SetStreak(k, n)
	}
	return w
}

func (m *memory) known(now time.Time) store.Receipts {
	return store.NewReceipts(now, slices.Collect(maps.Values(m.receipts)))
}

func (m *memory) keep(r *store.Receipts) {
	for _, a := range r.Added() {
		m.receipts[a.ReceiptKey] = a
	}
}

// commit writes what the work has collected, or nothing.
func (m *memory) commit(ctx context.Context, w *store.UnitOfWork, now time.Time) error {
	if err := cmp.Or(ctx.Err(), m.refuse(w)); err != nil {
		return err
	}
	for _, e := range w.Ended() {
		m.gateMoves(m.open[e.ID], e)
		delete(m.open, e.ID)
		m.archived[e.ID] = new(Canonical(*e))
	}
	for _, e := range slices.Concat(w.Updates(), w.Inserts()) {
		m.gateMoves(m.open[e.ID], e)
		m.open[e.ID] = new(Canonical(*e))
	}
	ends, _, _ := w.Ends()
	for _, h := range w.History {
		m.history[h.ErrorID] = append(m.history[h.ErrorID], h)
	}
	for _, end := range ends {
		m.history[end.Next.ID] = append(m.history[end.Next.ID], end.History)
	}
	for _, h := range w.Late {
		m.history[h.ErrorID] = append(m.history[h.ErrorID], h)
	}
	for _, n := range w.Notices() {
		n.CreatedAt, n.DueAt = now, now
		m.outbox = append(m.outbox, n)
	}
	for _, s := range w.Streaks() {
		m.streaks[s.StreakKey] = s.Count
	}
	m.keep(&w.Receipts)
	return nil
}

func (m *memory) gateMoves(old *recoup.Error, next *recoup.Error) {
	blocked := old != nil && old.Blocking
	switch {
	case next.Blocking && !blocked:
		m.log(next.EntityID, store.GateBlock, next.ID)
	case !next.Blocking && blocked:
		m.log(next.EntityID, store.GateUnblock, next.ID)
	}
}

func (m *memory) log(entity string, act store.GateAct, id recoup.ID) int64 {
	seq := int64(len(m.gate) + 1)
	m.gate = append(m.gate, store.GateEntry{Seq: seq, Entity: entity, Act: act, ID: id})
	return seq
}

// refuse is what the guards of a database do.
func (m *memory) refuse(w *store.UnitOfWork) error {
	for _, e := range w.Ended() {
		if t, ok := m.policy.Table(e.Table); !ok || t.Infinite() {
			return fmt.Errorf("%w: %v is kept for ever", store.ErrRefused, e.ID)
		}
	}
	for _, e := range slices.Concat(w.Updates(), w.Inserts()) {
		if why := m.wrong(e); why != "" {
			return fmt.Errorf("%w: %v: %s", store.ErrRefused, e.ID, why)
		}
	}
	return nil
}

func (m *memory) guard(e *recoup.Error) string {
	t, ok := m.policy.Table(e.Table)
	if !ok {
		return "no such table"
	}
	old, stored := m.open[e.ID]
	allowed := e.Disposition == recoup.DispositionResolved || slices.ContainsFunc(t.Allowed(), func(a recoup.Action) bool { return a.Disposition() == e.Disposition })
	held := e.State == recoup.Parked || e.State == recoup.Escalated
	switch {
	case stored && (old.Table != e.Table || old.ReportedTable != e.ReportedTable || old.EntityID != e.EntityID || old.Code != e.Code ||
		!old.CreatedAt.Equal(e.CreatedAt.Truncate(time.Microsecond)) || old.CorrelationID != e.CorrelationID):
		return "what it is is permanent"
	case stored && old.State == recoup.Resolved:
		return "it is resolved"
	case stored && t.Infinite() && old.PolicyVersion != "":
		return "it is kept as it is"
	case !e.State.Open() && e.State != recoup.Resolved || e.EscalationLevel > recoup.MaxTier:
		return "there is no such state or tier"
	case !allowed && (!stored || old.Disposition != e.Disposition):
		return "the disposition is not allowed"
	case e.Blocking != (t.Blocks && e.EntityID != "" && e.Disposition.Blocks()):
		return "blocking is wrong"
	case e.RetryCount > e.MaxRetries:
		return "more retries than allowed"
	case held && (e.ParkedAt.IsZero() || e.ParkReason == "" || e.EscalatedTo == ""):
		return "parked without a reason"
	case (e.State == recoup.Resolved) != (e.Disposition == recoup.DispositionResolved):
		return "half resolved"
	}
	return ""
}

// RawInsert is what plain SQL does to a table: a row with nothing but defaults.
func (m *memory) RawInsert(_ context.Context, table, entity string, code recoup.Code) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, _ := m.policy.Table(table)
	at := Epoch().Add(time.Duration(len(m.open)) * time.Hour)
	e := recoup.Error{
		ID: recoup.NewIDSource(rand.Reader).New(at), Table: table, EntityID: entity, Code: code, CreatedAt: at, UpdatedAt: at,
		State: recoup.Active, Disposition: t.Default.Disposition(), Blocking: t.Blocks && t.Default.Disposition().Blocks(),
	}
	m.gateMoves(nil, &e)
	m.open[e.ID] = &e
	return nil
}

// Reopen lets another node in: it is the same memory.
func (m *memory) Reopen(context.Context) (Store, error) { return m, nil }

// pick returns the errors of a place that hold, in the order of ids.
func (m *memory) pick(place map[recoup.ID]*recoup.Error, holds func(*recoup.Error) bool) []*recoup.Error {
	var list []*recoup.Error
	for _, e := range place {
		if holds(e) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *recoup.Error) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return list
}

func values(list []*recoup.Error) []recoup.Error {
	var all []recoup.Error
	for _, e := range list {
		all = append(all, *e)
	}
	return all
}
