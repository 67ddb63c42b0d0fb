package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// database implements [sqlops.DB].
type database struct{ *Store }

// Act implements [sqldb.Transactor].
func (d database) Act(ctx context.Context, doing string, at time.Time, do func(sqlops.Tx) error) error {
	return d.transact(ctx, doing, at, func(t *tx) error { return do(&act{tx: t, store: d.Store, ctx: ctx}) })
}

// Read implements [sqldb.Reader].
func (d database) Read(ctx context.Context, q *sqldb.Query, into sqldb.Answer) error {
	pool, args := d.pool, parameters(q.Args)
	if q.Vital {
		pool = d.vital
	}
	if q.Span { // planned for the span that it is: a plan for any, made after five, reads far too much
		args = append([]any{pgx.QueryExecModeCacheDescribe}, args...)
	}
	rows, err := pool.Query(ctx, q.SQL(), args...)
	if err == nil {
		err = take(rows, into)
	}
	return failure(q.Doing, err)
}

// Snapshot implements [sqldb.Reader].
func (d database) Snapshot(ctx context.Context, doing string, do func(read func(*sqldb.Query, sqldb.Answer) error) error) error {
	tx, err := d.pool.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return failure(doing, err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if d.pool.settings != "" {
		if _, err := tx.Exec(ctx, d.pool.settings); err != nil {
			return failure(doing, err)
		}
	}
	if _, err := tx.Exec(ctx, `select set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)`); err != nil {
		return failure(doing, err)
	}
	return do(func(q *sqldb.Query, into sqldb.Answer) error {
		var refused error // by who takes the rows, which is no failure of the database
		if done := into.Done; done != nil {
			into.Done = func() error { refused = done(); return refused }
		}
		rows, err := tx.Query(ctx, q.SQL(), parameters(q.Args)...)
		if err == nil {
			err = take(rows, into)
		}
		if refused != nil {
			return refused
		}
		return failure(doing, err)
	})
}

// take reads the rows of an answer.
func take(rows pgx.Rows, into sqldb.Answer) error {
	defer rows.Close()
	list := columns(into.Columns)
	for rows.Next() {
		i := into.Next()
		for c, value := range rows.RawValues()[:len(list)] {
			if value == nil {
				continue
			}
			if err := list[c].read(&i, value); err != nil {
				return err
			}
		}
		if into.Done != nil {
			if err := into.Done(); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}

// parameters are arguments as the driver takes them.
func parameters(args []any) []any {
	list := slices.Clone(args)
	for i, v := range list {
		switch v := v.(type) {
		case recoup.ID:
			list[i] = v[:]
		case []recoup.ID:
			list[i] = raw(v)
		case [32]byte:
			list[i] = v[:]
		}
	}
	return list
}

// act implements [sqlops.Tx].
type act struct {
	*tx
	store *Store
	ctx   context.Context //nolint:containedctx // it lives as long as the transaction
	held  *batches        // the leases that it has locked
}

// Dialect implements [sqldb.Reader].
func (d database) Dialect() sqldb.Dialect { return sqldb.PostgreSQL }

// Dialect implements [sqldb.Tx].
func (a *act) Dialect() sqldb.Dialect { return sqldb.PostgreSQL }

// Now implements [sqldb.Tx].
func (a *act) Now() time.Time { return a.now }

// Query implements [sqldb.Tx].
func (a *act) Query(q *sqldb.Query, into sqldb.Answer) error {
	return errors.Join(a.QueryLater(q, into), a.send(a.ctx))
}

// Lock implements [sqldb.Tx].
func (a *act) Lock(q *sqldb.Query, into sqldb.Answer) error {
	return errors.Join(a.QueryLater(q, into), a.lock(a.ctx))
}

// QueryLater implements [sqldb.Tx].
func (a *act) QueryLater(q *sqldb.Query, into sqldb.Answer) error {
	a.queue(q.SQL(), parameters(q.Args)...).Query(func(rows pgx.Rows) error { return take(rows, into) })
	return nil
}

// LockRows implements [sqldb.Tx].
func (a *act) LockRows(sql string, args ...any) { a.queue(sql, parameters(args)...) }

// Due implements [sqldb.Tx].
func (a *act) Due() any { return a.due() }

// Do implements [sqldb.Tx].
func (a *act) Do(sql string, args ...any) error {
	a.queue(sql, parameters(args)...)
	return nil
}

// Change implements [sqldb.Tx].
func (a *act) Change(sql string, args ...[]any) (n int, err error) {
	for _, list := range args {
		a.queue(sql, parameters(list)...).Exec(addTo(&n))
	}
	err = a.send(a.ctx)
	return n, err
}

// addTo takes up how many rows a queued statement has changed.
func addTo(n *int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*n += int(tag.RowsAffected())
		return nil
	}
}

// Add implements [sqldb.Tx].
func (a *act) Add(b sqldb.Batch) error {
	rows := batchOf(b)
	a.queue(rows.insert(b.Name), rows.args...)
	return nil
}

// InsertNew implements [sqldb.Tx].
func (a *act) InsertNew(b sqldb.Batch) (n int, err error) {
	rows := batchOf(b)
	a.queue(rows.insert(b.Name)+" on conflict do nothing", rows.args...).Exec(addTo(&n))
	err = a.send(a.ctx)
	return n, err
}

// InsertIgnore implements [sqldb.Tx].
func (a *act) InsertIgnore(b sqldb.Batch) error {
	rows := batchOf(b)
	a.queue(rows.insert(b.Name)+" on conflict do nothing", rows.args...)
	return nil
}

// Upsert implements [sqldb.Tx].
func (a *act) Upsert(b sqldb.Batch) error {
	rows := batchOf(b)
	a.queue(rows.insert(b.Name)+b.OnConflict(), rows.args...)
	return nil
}

// Update implements [sqldb.Tx].
func (a *act) Update(b sqldb.Batch) error {
	rows := batchOf(b)
	a.queue(rows.updateBy(b.Name, b.Keys()), rows.args...)
	return nil
}

func batchOf(b sqldb.Batch) batch {
	numbers := make([]int, b.Len)
	for i := range numbers {
		numbers[i] = i
	}
	return newBatch(columns(b.Columns), pointers(numbers))
}

// Copy implements [sqldb.Tx].
func (a *act) Copy(b sqldb.Batch) (int, error) {
	if err := a.send(a.ctx); err != nil {
		return 0, err
	}
	rows := make([]int, b.Len)
	for i := range rows {
		rows[i] = i
	}
	return a.copy(a.ctx, b.Name, b.Names(""), copyRows(columns(b.Columns), rows))
}

// CopyNew implements [sqldb.Tx]. COPY cannot skip rows.
func (a *act) CopyNew(b sqldb.Batch) (int, error) { return a.InsertNew(b) }

// Acquire implements [sqldb.Tx].
func (a *act) Acquire(lock sqldb.AdvisoryLock, shared bool) error {
	a.queue(acquireLock, int(lock), shared)
	return nil
}

// acquireLock acquires an advisory lock until the end of the transaction.
const acquireLock = "select recoup.lock_turn($1, $2)"

// Wake implements [sqldb.Tx]. Of a policy the database notifies by itself.
func (a *act) Wake(kind string) {
	if kind != store.WakePolicy {
		a.wake(kind)
	}
}

// SecureDelete implements [sqldb.Tx]. PostgreSQL keeps the old version of a row until it is
// vacuumed, and in its log and backups as long as those are kept.
func (a *act) SecureDelete() {}

// LoadReports implements [sqlops.Tx].
func (a *act) LoadReports(reports []store.Report) (*store.UnitOfWork, error) {
	return a.store.lockReports(a.ctx, a.tx, reports)
}

// LoadSteps implements [sqlops.Tx].
func (a *act) LoadSteps(steps []store.Step) (*store.UnitOfWork, error) {
	return a.store.loadSteps(a.ctx, a.tx, steps)
}

// SaveErrors implements [sqlops.Tx].
func (a *act) SaveErrors(w *store.UnitOfWork) error {
	a.store.writeErrors(a.tx, w)
	err := w.WriteAttached(a)
	writeEffects(a.tx, w)
	return err
}

// addNotices queues notices for an operation of this package.
func addNotices(t *tx, now time.Time, notices []wire.Notice) {
	b := batchOf(sqlops.NoticeBatch(now, notices))
	t.queue(b.insert(store.Notices.Name)+" on conflict do nothing", b.args...)
	t.wake(store.WakeNotices)
}
