package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// A verb that met others at its keys starts over until it is through; one that
// waited for a lock in vain gives up sooner, because each time has cost it the
// whole wait.
const (
	attempts     = 10
	busyAttempts = 3
)

// tx is a transaction that talks to the server in batches: what is queued goes
// out together, so that a verb costs two round trips, one to lock and read and
// one to write and commit.
type tx struct {
	conn    *pgx.Conn
	batch   *pgx.Batch
	attempt int // the first is 1
	woken   []string
	months  []time.Time // of the events that it adds
	ledger  *ledgerGate
	late    bool // its events are written late: see [writeEvents]
	locked  bool // it failed because the ledger was locked

	at    time.Time        // when the act happens, if its caller says so; zero: as the clock says
	clock func() time.Time // a test's; nil: the database's
	now   time.Time        // when it happens; known once the locks are taken
}

// queue adds a statement to the next batch.
func (t *tx) queue(sql string, args ...any) *pgx.QueuedQuery { return t.batch.Queue(sql, args...) }

// send runs what is queued.
func (t *tx) send(ctx context.Context) error {
	batch := t.batch
	t.batch = &pgx.Batch{}
	return t.conn.SendBatch(ctx, batch).Close()
}

// lock runs what is queued, which takes the locks of the act, and reads the clock
// behind it: however long it had to wait for them, the act happens now.
func (t *tx) lock(ctx context.Context) error {
	t.now = t.at
	if t.at.IsZero() && t.clock == nil {
		t.queue("select recoup.clock()").QueryRow(func(row pgx.Row) error { return row.Scan(&t.now) })
	}
	if err := t.send(ctx); err != nil {
		return err
	}
	if t.at.IsZero() && t.clock != nil {
		t.now = t.clock()
	}
	t.now = t.now.UTC()
	return nil
}

// due is the time by which a statement looks for what is due, as the parameter of
// [clockOr]: nothing if the database is to ask its own clock.
func (t *tx) due() *time.Time {
	if t.at.IsZero() && t.clock != nil {
		return optional(t.clock())
	}
	return optional(t.at)
}

// clockOr is the time that a parameter says, or else the database's, asked once
// for the whole statement, so that indexes serve.
func clockOr(parameter string) string {
	return "(select coalesce(" + parameter + "::timestamptz, recoup.clock()))"
}

// steer has the statements of the transaction look up row after row by an index, and
// keep the plan for that. The queue is often empty, and its statistics say so then:
// a plan that joins or sorts all of it would be made, and kept when it is long.
func (t *tx) steer() {
	t.queue(`select set_config(name, value, true) from (values ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('enable_bitmapscan', 'off'),
		('enable_sort', 'off'), ('enable_material', 'off'), ('plan_cache_mode', 'force_generic_plan')) as s (name, value)`)
}

// collect puts the rows of a queued query where into points, when it is sent.
func collect[R any](q *pgx.QueuedQuery, row pgx.RowToFunc[R], into *[]R) {
	q.Query(func(rows pgx.Rows) error {
		list, err := pgx.AppendRows(*into, rows, row)
		*into = list
		return err
	})
}

// transact runs work in a transaction and commits it together with what work
// has left in the queue. Where others were in the way it starts over, so work
// must keep nothing between calls. at is when the act happens; zero: when it has
// its locks (see [tx.lock]). Events that the ledger cannot take now are written late.
func (s *Store) transact(ctx context.Context, doing string, at time.Time, work func(*tx) error) error {
	late := false
	for attempt := 1; ; attempt++ {
		t := &tx{attempt: attempt, at: at, clock: s.clock, ledger: &s.ledger, late: late}
		during, err := s.attempt(ctx, t, work)
		switch {
		case err == nil:
			if len(t.months) > 0 {
				s.ledger.open()
			}
			return nil
		case attempt < attempts && t.locked:
			late = true
			s.ledger.lock()
		case attempt < attempts && partitionMissing(err, historyTable):
			if err := s.createPartitions(ctx, t.now); err != nil {
				return failure(doing, err)
			}
		case attempt < attempts && partitionMissing(err, eventTable):
			if late = s.ensureEventPartitions(ctx, t.months) != nil; late {
				s.ledger.lock()
			}
		case attempt < attempts && (reportedTwice(err) || errors.Is(err, errTaken)):
		case attempt < busyAttempts && busy(err):
		case attempt < busyAttempts && state(err) == readOnly: // a primary that was replaced: sessions made from now on find the next
			s.renew()
		default:
			return during(failure(doing, err))
		}
	}
}

// attempt runs work once. With an error comes what package fault has to know
// about it: in which phase it happened.
func (s *Store) attempt(ctx context.Context, t *tx, work func(*tx) error) (during func(error) error, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return onAcquire, err
	}
	defer conn.Release() // which throws away a connection that is left in a transaction
	t.conn, t.batch = conn.Conn(), &pgx.Batch{}
	t.queue("begin isolation level read committed")
	if s.pool.settings != "" {
		t.queue(s.pool.settings)
	}
	term, led := store.TermOf(ctx)
	if led {
		t.queue(leaderPatience)
	}
	if err := work(t); err != nil {
		t.rollback(ctx)
		return beforeCommit, err
	}
	if led {
		t.queue(holdTerm, term.Name, term.Number)
	}
	t.queue("commit")
	if err = t.send(ctx); err != nil {
		t.rollback(ctx)
		if rolledBack(err) {
			return beforeCommit, err
		}
		return fault.OnCommit, err
	}
	s.notifier.Notify(t.woken...)
	return beforeCommit, nil
}

// A leader's transaction ends by holding its term. Should the leader stop within it, the
// server ends it soon, so that its successor need not wait for what it had locked.
const (
	holdTerm       = "select recoup.hold_term($1, $2)"
	leaderPatience = "set local idle_in_transaction_session_timeout = '10s'"
)

func (t *tx) rollback(ctx context.Context) {
	if !t.conn.IsClosed() && t.conn.PgConn().TxStatus() != 'I' {
		_, _ = t.conn.Exec(context.WithoutCancel(ctx), "rollback")
	}
}
