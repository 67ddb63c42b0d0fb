package sqlops

import (
	"context"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Table is the verbs of a table of rows R.
type Table[R any] struct {
	sqldb.Table[R]
	what   string // one of them, in an error
	plain  string // select … from …
	create sqldb.Table[R]
	change sqldb.Table[R]
}

// table returns the verbs of a table.
func table[R any](t sqldb.Table[R], what string) Table[R] {
	return Table[R]{t, what, "select " + t.Names("") + " from " + t.Name, t.Written(), t.Changing()}
}

// view returns what reads rows of several tables.
func view[R any](columns []sqldb.Column[R], what, from string) Table[R] {
	t := sqldb.Table[R]{Columns: columns}
	return Table[R]{Table: t, what: what, plain: "select " + t.Names("") + from}
}

// ask begins a question for rows, with what follows the table's name.
func (t Table[R]) ask(doing, rest string, args ...any) *Query {
	return ask(doing, t.plain+" "+rest, args...)
}

// list reads rows.
func (t Table[R]) list(ctx context.Context, v Ops, q *Query) ([]R, error) {
	return rows(ctx, v, q, t.Columns...)
}

// get reads the one row of a question, or ErrNotFound.
func (t Table[R]) get(ctx context.Context, v Ops, q *Query, name string) (R, error) {
	list, err := t.list(ctx, v, q)
	return one(list, err, t.named(name))
}

// page reads a page of a list that runs from new to old.
func (t Table[R]) page(ctx context.Context, v Ops, q *Query, p store.Page, at func(*R) store.Cursor) ([]R, store.Cursor, error) {
	list, err := t.list(ctx, v, q)
	return list, next(list, p.Size(), at), err
}

// query reads the rows of a question within a transaction, and later does by the time
// the next one is answered.
func (t Table[R]) query(tx Tx, q *Query) (list []R, err error) {
	err = tx.Query(q, sqldb.Into(&list, t.Columns))
	return list, err
}

func (t Table[R]) later(tx Tx, into *[]R, rest string, args ...any) error {
	return tx.QueryLater(t.ask("", rest, args...), sqldb.Into(into, t.Columns))
}

// find reads rows within a transaction.
func (t Table[R]) find(tx Tx, rest string, args ...any) ([]R, error) {
	return t.query(tx, t.ask("", rest, args...))
}

// lock locks the row with a key and reads it, or returns ErrNotFound.
func (t Table[R]) lock(tx Tx, key any, name string) (R, error) {
	var list []R
	q := t.ask("", "where "+t.Keys()[0]+" = $1 for no key update", key)
	err := tx.Lock(q, sqldb.Into(&list, t.Columns))
	return one(list, err, t.named(name))
}

// add adds rows; addNew adds one unless it is known, and reports whether it did;
// put adds rows or takes the place of those with their keys; set gives rows new
// values; remove deletes rows by their keys.
func (t Table[R]) add(tx Tx, records ...R) error {
	if len(records) == 0 {
		return nil
	}
	return tx.Add(t.create.Batch(records))
}

func (t Table[R]) addNew(tx Tx, record R) (bool, error) {
	n, err := tx.InsertNew(t.create.Batch([]R{record}))
	return n > 0, err
}

// ensure adds rows unless they are known.
func (t Table[R]) ensure(tx Tx, records ...R) error {
	if len(records) == 0 {
		return nil
	}
	return tx.InsertIgnore(t.create.Batch(records))
}

func (t Table[R]) put(tx Tx, records ...R) error {
	if len(records) == 0 {
		return nil
	}
	return tx.Upsert(t.create.Batch(records))
}

func (t Table[R]) set(tx Tx, records ...R) error {
	if len(records) == 0 {
		return nil
	}
	return tx.Update(t.change.Batch(records))
}

func (t Table[R]) remove(tx Tx, keys []recoup.ID) error {
	if len(keys) == 0 {
		return nil
	}
	return tx.Do("delete from "+t.Name+" where "+t.Keys()[0]+" = any ($1::uuid[])", keys)
}

// inOrder does one thing after the other.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (t Table[R]) named(name string) string { return strings.TrimSpace(t.what + " " + name) }
