package sqldb

import (
	"context"
	"fmt"
	"time"
)

// Act runs a transaction with a result, which is zero if the transaction failed.
func Act[T, R any](ctx context.Context, db Transactor[T], doing string, do func(T) (R, error)) (R, error) {
	return ActAt(ctx, db, doing, time.Time{}, do)
}

// ActAt is [Act] at a time.
func ActAt[T, R any](ctx context.Context, db Transactor[T], doing string, at time.Time, do func(T) (R, error)) (R, error) {
	var result, none R
	err := db.Act(ctx, doing, at, func(tx T) (err error) {
		result, err = do(tx)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// Decide runs a transaction for many items. It loads and locks the rows of all items
// into a unit of work W, decides the items in order, and saves. Either everything is
// saved or nothing. If the transaction starts over, all items are decided again.
func Decide[T, W, I, O any](ctx context.Context, db Transactor[T], doing string, at time.Time, items []I,
	load func(T) (W, error), step func(W, I) O, save func(T, W) error) ([]O, error) {
	if len(items) == 0 {
		return nil, nil
	}
	return ActAt(ctx, db, doing, at, func(tx T) ([]O, error) {
		w, err := load(tx)
		if err != nil {
			return nil, err
		}
		outcomes := make([]O, len(items))
		for i := range items {
			outcomes[i] = step(w, items[i])
		}
		return outcomes, save(tx, w)
	})
}

// DecideOne runs a transaction for one item. A refusal is returned after the commit, so
// that what do has written with it stays.
func DecideOne[T, R any](ctx context.Context, db Transactor[T], doing string, at time.Time, do func(tx T) (next R, refused, err error)) (R, error) {
	var refused error
	next, err := ActAt(ctx, db, doing, at, func(tx T) (next R, err error) {
		next, refused, err = do(tx)
		return next, err
	})
	if err == nil {
		err = refused
	}
	return next, err
}

// Rows runs a query outside of a transaction and returns its rows.
func Rows[R any](ctx context.Context, db Reader, q *Query, columns ...Column[R]) ([]R, error) {
	var list []R
	err := db.Read(ctx, q, Into(&list, columns))
	return list, err
}

// Counts runs a query whose rows are a name and a number.
func Counts[K ~string](ctx context.Context, db Reader, q *Query) (map[K]int64, error) {
	type count struct {
		name string
		n    int64
	}
	list, err := Rows(ctx, db, q, Fields(func(c *count) []any { return []any{&c.name, &c.n} })...)
	m := make(map[K]int64, len(list))
	for _, c := range list {
		m[K(c.name)] = c.n
	}
	return m, err
}

// One returns the first row of a result, or [ErrNotFound] if there is none. what names
// the row in the error.
func One[R any](list []R, err error, what string) (R, error) {
	var none R
	switch {
	case err != nil:
		return none, err
	case len(list) == 0:
		return none, fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return list[0], nil
}

// InOrder calls functions one after the other until one fails.
func InOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
