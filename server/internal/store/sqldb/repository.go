package sqldb

import (
	"context"
	"strings"

	"github.com/recoup-dev/recoup"
)

// Repository reads and writes rows R of one table.
type Repository[R any] struct {
	Table[R]
	what   string // the name of a row, in errors
	plain  string // select … from …
	create Table[R]
	change Table[R]
}

// NewRepository returns a repository of a table. what is the name of a row in errors.
func NewRepository[R any](t Table[R], what string) Repository[R] {
	return Repository[R]{t, what, "select " + t.Names("") + " from " + t.Name, t.Written(), t.Changing()}
}

// NewView returns a repository that only reads, from a join for example. from is the
// text after the columns.
func NewView[R any](columns []Column[R], what, from string) Repository[R] {
	t := Table[R]{Columns: columns}
	return Repository[R]{Table: t, what: what, plain: "select " + t.Names("") + from}
}

// Select returns a query for rows. rest is the text after the table's name.
func (t Repository[R]) Select(doing, rest string, args ...any) *Query {
	return NewQuery(doing, t.plain+" "+rest, args...)
}

// SelectText returns the text of a query for all rows.
func (t Repository[R]) SelectText() string { return t.plain }

// Label returns what a row is, with its name, for errors.
func (t Repository[R]) Label(name string) string { return strings.TrimSpace(t.what + " " + name) }

// List returns the rows of a query.
func (t Repository[R]) List(ctx context.Context, db Reader, q *Query) ([]R, error) {
	return Rows(ctx, db, q, t.Columns...)
}

// Get returns the first row of a query, or [ErrNotFound].
func (t Repository[R]) Get(ctx context.Context, db Reader, q *Query, name string) (R, error) {
	list, err := t.List(ctx, db, q)
	return One(list, err, t.Label(name))
}

// Page returns a page of a list, and the cursor of the next page.
func (t Repository[R]) Page(ctx context.Context, db Reader, q *Query, p Page, at func(*R) Cursor) ([]R, Cursor, error) {
	list, err := t.List(ctx, db, q)
	return list, Next(list, p.Size(), at), err
}

// Query returns the rows of a query in a transaction.
func (t Repository[R]) Query(tx Tx, q *Query) (list []R, err error) {
	err = tx.Query(q, Into(&list, t.Columns))
	return list, err
}

// QueryLater reads rows no later than the next query of the transaction.
func (t Repository[R]) QueryLater(tx Tx, into *[]R, rest string, args ...any) error {
	return tx.QueryLater(t.Select("", rest, args...), Into(into, t.Columns))
}

// Find returns rows in a transaction. rest is the text after the table's name.
func (t Repository[R]) Find(tx Tx, rest string, args ...any) ([]R, error) {
	return t.Query(tx, t.Select("", rest, args...))
}

// Lock locks the row with a key and returns it, or [ErrNotFound].
func (t Repository[R]) Lock(tx Tx, key any, name string) (R, error) {
	var list []R
	q := t.Select("", "where "+t.Keys()[0]+" = $1"+tx.Dialect().ForUpdate("no key update"), key)
	err := tx.Lock(q, Into(&list, t.Columns))
	return One(list, err, t.Label(name))
}

// NewRows returns rows as a batch to be inserted.
func (t Repository[R]) NewRows(rows []R) Batch { return t.create.Batch(rows) }

// Add inserts rows.
func (t Repository[R]) Add(tx Tx, rows ...R) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.Add(t.create.Batch(rows))
}

// InsertNew inserts a row unless it exists, and reports whether it did.
func (t Repository[R]) InsertNew(tx Tx, row R) (bool, error) {
	n, err := tx.InsertNew(t.create.Batch([]R{row}))
	return n > 0, err
}

// InsertIgnore inserts those of some rows that do not exist.
func (t Repository[R]) InsertIgnore(tx Tx, rows ...R) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.InsertIgnore(t.create.Batch(rows))
}

// Copy inserts many rows; see [Tx.Copy].
func (t Repository[R]) Copy(tx Tx, rows []R) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	return tx.Copy(t.create.Batch(rows))
}

// CopyNew inserts those of many rows that do not exist; see [Tx.CopyNew].
func (t Repository[R]) CopyNew(tx Tx, rows []R) (int, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	return tx.CopyNew(t.create.Batch(rows))
}

// Upsert inserts rows, or replaces those that have the same key.
func (t Repository[R]) Upsert(tx Tx, rows ...R) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.Upsert(t.create.Batch(rows))
}

// Update writes the columns that may change, of rows found by their keys.
func (t Repository[R]) Update(tx Tx, rows ...R) error {
	if len(rows) == 0 {
		return nil
	}
	return tx.Update(t.change.Batch(rows))
}

// Delete deletes rows by their keys.
func (t Repository[R]) Delete(tx Tx, keys []recoup.ID) error {
	if len(keys) == 0 {
		return nil
	}
	return tx.Do("delete from "+t.Name+" where "+t.Keys()[0]+""+tx.Dialect().AnyID("$1"), keys)
}
