package postgres

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// writeEvents queues the events of a unit of work, and notes their months, which may
// have no partition yet. They are in the order of their keys, as those of every batch. An
// act does not wait for the ledger: while that is locked, its events are written to
// recoup.event_late, and DeliverEvents moves them.
func writeEvents(t *tx, events []store.Event) {
	if len(events) == 0 {
		return
	}
	months := byMonth(events)
	order := slices.SortedFunc(maps.Keys(months), time.Time.Compare)
	sorted := make([]*store.Event, 0, len(events))
	for _, month := range order {
		sorted = append(sorted, pointers(months[month])...)
	}
	if t.late || t.ledger.late() {
		b := newBatch(eventColumns, sorted)
		t.queue(b.insert("recoup.event_late")+" on conflict do nothing", b.args...)
		return
	}
	t.months = append(t.months, order...)
	args := make([]any, len(eventColumns))
	for i, c := range eventColumns {
		args[i] = c.all(sorted)
	}
	t.queue(addEvents, args...).Fn = func(results pgx.BatchResults) error {
		_, err := results.Exec()
		t.locked = busy(err)
		return err
	}
}

// addEvents has a parameter for each of [eventColumns], whose names are those of the
// function's parameters in the same order.
var addEvents = "select recoup.add_events($1" + func() string {
	var list strings.Builder
	for i := range eventColumns[1:] {
		list.WriteString(", $" + strconv.Itoa(i+2))
	}
	return list.String()
}() + ")"

// ledgerProbe is how often an act tries the ledger again after it was locked.
const ledgerProbe = time.Second

// ledgerGate remembers that the ledger was locked, so that not every act waits for it. Once in
// a while one act tries it again.
type ledgerGate struct{ state atomic.Int32 }

const (
	ledgerOpen int32 = iota
	ledgerLocked
	ledgerTry // the next act tries
)

// late reports whether an act writes its events late.
func (g *ledgerGate) late() bool {
	switch g.state.Load() {
	case ledgerOpen:
		return false
	case ledgerTry:
		if g.state.CompareAndSwap(ledgerTry, ledgerLocked) {
			g.tryLater()
			return false
		}
	}
	return true
}

// lock notes that the ledger is locked.
func (g *ledgerGate) lock() {
	if g.state.Swap(ledgerLocked) != ledgerLocked { // else it is tried again already
		g.tryLater()
	}
}

func (g *ledgerGate) tryLater() {
	time.AfterFunc(ledgerProbe, func() { g.state.CompareAndSwap(ledgerLocked, ledgerTry) })
}

// open notes that the ledger has taken events.
func (g *ledgerGate) open() {
	if g.state.Load() != ledgerOpen {
		g.state.Store(ledgerOpen)
	}
}

// DeliverEvents implements [store.LateEvents].
func (s *Store) DeliverEvents(ctx context.Context, limit int) (n int, err error) {
	err = s.pool.Change(ctx, "select recoup.deliver_events($1)", max(limit, 0)).Scan(&n)
	return n, failure("deliver late events", err)
}

// LateEvents implements [store.LateEvents].
func (s *Store) LateEvents(ctx context.Context, limit int) (late store.Overdue, err error) {
	late, err = lateEvents(ctx, s.pool, limit)
	return late, failure("look for late events", err)
}

func lateEvents(ctx context.Context, q querier, limit int) (late store.Overdue, err error) {
	var since *time.Time
	err = q.QueryRow(ctx, "select count(*), min(late_at) from (select late_at from recoup.event_late order by late_at limit $1) l", max(limit, 1)).Scan(&late.N, &since)
	late.Since = moment(since)
	return late, err
}
