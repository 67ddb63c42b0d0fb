package sqlops

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var (
	operations     = sqldb.NewRepository(store.Operations, "operation")
	operationItems = sqldb.NewRepository(store.OperationItems, "member")
)

// AddOperation begins an operation. Those of one key take turns, so that two cannot both
// be the last that it may have.
func (v Ops) AddOperation(ctx context.Context, o recoup.Operation, unconfirmed int) error {
	_, err := sqldb.DecideOne(ctx, v.db, "add an operation", time.Time{}, func(tx Tx) (_ bool, refused, err error) {
		if err := tx.Acquire(lockOperation, false); err != nil {
			return false, nil, err
		}
		q := sqldb.NewQuery("", "select operation_id from recoup.operation"+sqldb.IndexedBy("operation_unconfirmed_idx")+" where confirmed_at is null and ended_at is null")
		if o.CreatedKey.IsZero() {
			q.Add(" and created_key is null")
		} else {
			q.Add(" and created_key = " + q.Arg(o.CreatedKey))
		}
		var open []recoup.ID
		if err := tx.Query(q.Add(" limit "+q.Arg(unconfirmed)), sqldb.Into(&open, sqldb.IDColumn())); err != nil {
			return false, nil, err
		}
		if len(open) >= unconfirmed {
			return false, fmt.Errorf("operation: %w", store.ErrFull), nil
		}
		return true, nil, operations.Add(tx, o)
	})
	return err
}

// AddOperationItems appends members to an operation and counts them.
func (v Ops) AddOperationItems(ctx context.Context, id recoup.ID, items []recoup.OperationItem) error {
	_, err := sqldb.Act(ctx, v.db, "add members to an operation", func(tx Tx) (int, error) {
		o, err := operations.Lock(tx, id, id.String())
		if err != nil {
			return 0, err
		}
		if o.State != recoup.OperationCollecting {
			return 0, fmt.Errorf("operation %s: its members are fixed: %w", id, store.ErrRefused)
		}
		added := make([]recoup.OperationItem, len(items))
		for i, item := range items {
			item.OperationID, item.Position = id, o.Members+i
			if added[i] = item; item.Result == recoup.ResultRefused {
				o.Refused++
			}
		}
		o.Members += len(items)
		if err := operationItems.Add(tx, added...); err != nil {
			return 0, err
		}
		return len(items), operations.Update(tx, o)
	})
	return err
}

// DropOperation deletes an operation whose members are not fixed, members first: without
// their operation nothing guards them.
func (v Ops) DropOperation(ctx context.Context, id recoup.ID) error {
	_, err := sqldb.Act(ctx, v.db, "drop an operation", func(tx Tx) (int, error) {
		o, err := operations.Lock(tx, id, id.String())
		if err != nil || o.State != recoup.OperationCollecting {
			return 0, err
		}
		if _, err := tx.Change("delete from recoup.operation_item where operation_id = $1", []any{id}); err != nil {
			return 0, err
		}
		return tx.Change("delete from recoup.operation where operation_id = $1", []any{id})
	})
	return err
}

// StepOperation applies an input to an operation.
func (v Ops) StepOperation(ctx context.Context, now time.Time, id recoup.ID, decide store.DecideOperation) (recoup.Operation, error) {
	return sqldb.DecideOne(ctx, v.db, "step an operation", now, func(tx Tx) (o recoup.Operation, refused, err error) {
		if o, err = operations.Lock(tx, id, id.String()); err != nil {
			return o, nil, err
		}
		next, audit, refused := decide(o, tx.Now())
		if refused != nil || next == o {
			return o, refused, nil
		}
		if err := operations.Update(tx, next); err != nil {
			return o, nil, err
		}
		return next, nil, audits.Add(tx, audit...)
	})
}

// CarryOperation carries out the next members of an operation. Whoever carries out the same
// one waits for its row, and finds these done.
func (v Ops) CarryOperation(ctx context.Context, now time.Time, id recoup.ID, limit int, carrier store.Carrier) (recoup.Operation, error) {
	return sqldb.ActAt(ctx, v.db, "carry out an operation", now, func(tx Tx) (recoup.Operation, error) {
		o, err := operations.Lock(tx, id, id.String())
		if err != nil || o.State != recoup.OperationRunning {
			return o, err
		}
		next, err := operationItems.Find(tx, "where operation_id = $1 and result = 'PENDING' order by position limit $2", id, sqldb.Clamp(limit))
		if err != nil {
			return o, err
		}
		steps := carrier.Steps(&o, next)
		outcomes := make([]store.Outcome, len(next))
		if len(next) > 0 {
			w, err := tx.LoadSteps(steps)
			if err != nil {
				return o, err
			}
			for i := range steps {
				outcomes[i] = w.Step(steps[i])
			}
			if err := save(tx, w); err != nil {
				return o, err
			}
		}
		o = carrier.Settle(o, next, outcomes, len(next) < sqldb.Clamp(limit), tx.Now())
		if err := operationItems.Update(tx, next...); err != nil {
			return o, err
		}
		return o, operations.Update(tx, o)
	})
}

// Operation returns an operation.
func (v Ops) Operation(ctx context.Context, id recoup.ID) (recoup.Operation, error) {
	return operations.Get(ctx, v.db, operations.Select("read an operation", "where operation_id = $1", id), id.String())
}

// Operations lists operations, newest first.
func (v Ops) Operations(ctx context.Context, f store.OperationFilter, p sqldb.Page) ([]recoup.Operation, sqldb.Cursor, error) {
	q := operations.Select("list operations", "where true")
	q.Equal("state", string(f.State))
	if len(f.Hubs) > 0 {
		q.OneOf(v.db.Dialect(), "hub", f.Hubs)
	}
	return operations.Page(ctx, v.db, q.Newest("created_at", "operation_id", p), p, func(o *recoup.Operation) sqldb.Cursor {
		return sqldb.Cursor{At: o.CreatedAt, ID: o.ID}
	})
}

// RunningOperations returns operations that run, those first that have for the longest.
func (v Ops) RunningOperations(ctx context.Context, limit int) ([]recoup.ID, error) {
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("read what operations run",
		"select operation_id from recoup.operation where state = 'RUNNING' order by state_at limit $1", sqldb.Clamp(limit)), sqldb.IDColumn()...)
}

// OperationItems lists the members of an operation in the order of their positions.
func (v Ops) OperationItems(ctx context.Context, id recoup.ID, result recoup.OperationResult, from, limit int) ([]recoup.OperationItem, int, error) {
	size := sqldb.Page{Limit: limit}.Size()
	q := operationItems.Select("list the members of an operation", "where operation_id = $1 and position >= $2", id, from)
	q.Equal("result", string(result))
	list, err := operationItems.List(ctx, v.db, q.Add(" order by position limit "+q.Arg(size)))
	if err != nil || len(list) < size {
		return list, -1, err
	}
	return list, list[len(list)-1].Position + 1, nil
}

// PurgeOperations deletes at most limit members of operations whose time is over, and the
// operations of which none is left.
func (v Ops) PurgeOperations(ctx context.Context, now time.Time, limit int) (int, error) {
	return sqldb.Act(ctx, v.db, "purge operations", func(tx Tx) (int, error) {
		n, err := tx.Change(`delete from recoup.operation_item where (operation_id, position) in (
			select i.operation_id, i.position from recoup.operation o join recoup.operation_item i on i.operation_id = o.operation_id
			where o.expires_at <= $1 order by o.expires_at limit $2)`, []any{now, sqldb.Clamp(limit)})
		if err != nil {
			return 0, err
		}
		_, err = tx.Change(`delete from recoup.operation where operation_id in (select operation_id from recoup.operation o
			where expires_at <= $1 and not exists (select 1 from recoup.operation_item i where i.operation_id = o.operation_id)
			order by expires_at limit $2)`, []any{now, sqldb.Clamp(limit)})
		return n, err
	})
}
