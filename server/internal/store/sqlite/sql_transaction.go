package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// tx is the writing connection within a transaction. Statements on it are not
// interrupted.
type tx struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	now      time.Time           // the time of the act
	rows     map[recoup.ID]int64 // where errors are that it has read or written
	read     []recoup.Error      // those that it has read; the next transaction reuses the slice
	held     held                // across transactions
	work     int                 // statements that were run and rows that they changed

	// Applied after the commit.
	woken        []string // kinds of listeners to notify
	secureDelete bool     // the log holds what must not be read again
}

// statement prepares each text once. There are few: a text varies only by the
// set of columns that an update changes.
func (t *tx) statement(query string) (*sql.Stmt, error) {
	t.work++
	if s := t.prepared[query]; s != nil {
		return s, nil
	}
	return t.prepare(query, query)
}

// shared is [tx.statement] for a text that is written for PostgreSQL.
func (t *tx) shared(query string) (*sql.Stmt, error) {
	t.work++
	if s := t.prepared[query]; s != nil {
		return s, nil
	}
	return t.prepare(query, translateSQL(query))
}

// prepare prepares a text and keeps the statement under a key.
func (t *tx) prepare(key, text string) (*sql.Stmt, error) {
	s, err := t.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	t.prepared[key] = s
	return s, nil
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.change(query, args...)
	return err
}

// define changes the schema.
func (t *tx) define(query string) error {
	_, err := t.conn.ExecContext(context.Background(), query)
	return err
}

// change runs a statement and returns how many rows it changed.
func (t *tx) change(query string, args ...any) (int, error) {
	s, err := t.statement(query)
	if err != nil {
		return 0, err
	}
	return t.run(s, args)
}

// changeShared is [tx.change] for a text that is written for PostgreSQL.
func (t *tx) changeShared(query string, args ...any) (int, error) {
	s, err := t.shared(query)
	if err != nil {
		return 0, err
	}
	return t.run(s, args)
}

// run runs a statement and returns how many rows it changed.
func (t *tx) run(s *sql.Stmt, args []any) (int, error) {
	result, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	t.work += int(n)
	return int(n), err
}

// add runs a statement that adds a row and returns the row's number.
func (t *tx) add(query string, args ...any) (int64, error) {
	s, err := t.statement(query)
	if err != nil {
		return 0, err
	}
	result, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (t *tx) row(query string, args ...any) rowScanner {
	s, err := t.statement(query)
	if err != nil {
		return failed{err}
	}
	return s.QueryRowContext(context.Background(), args...)
}

func (t *tx) query(query string, args ...any) (*sql.Rows, error) {
	s, err := t.statement(query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(context.Background(), args...)
}

// errors runs a query for the columns of errors.
func (t *tx) errors(columns []column, query string, args ...any) ([]recoup.Error, error) {
	rows, err := t.query(query, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(e *recoup.Error) []any { return fields(columns, e) })
}

// stored runs a query for the numbers of rows and the columns of errors, which stay
// as they are until the transaction ends.
func (t *tx) stored(query string, args ...any) ([]recoup.Error, error) {
	first := len(t.read)
	err := t.scan(errorColumns, func(row int64, e *recoup.Error) {
		t.rows[e.ID] = row
		t.read = append(t.read, *e)
	}, query, args...)
	return slices.Clip(t.read[first:]), err
}

// scan runs a query for the numbers of rows and columns of errors, one after the other.
func (t *tx) scan(columns []column, each func(row int64, e *recoup.Error), query string, args ...any) error {
	rows, err := t.query(query, args...)
	if err != nil {
		return err
	}
	var (
		e    recoup.Error
		row  int64
		into = append([]any{&row}, fields(columns, &e)...)
	)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return errors.Join(err, rows.Close())
		}
		each(row, &e)
	}
	return errors.Join(rows.Err(), rows.Close())
}

// begin forgets what the previous transaction has read.
func (t *tx) begin() {
	clear(t.rows)
	if t.read = t.read[:0]; cap(t.read) > 2*sqldb.MaxPage {
		t.read = nil
	}
}

// rowOf returns the number of a stored error's row.
func (t *tx) rowOf(errorID recoup.ID) (int64, error) {
	if row, known := t.rows[errorID]; known {
		return row, nil
	}
	var row int64
	err := t.row(`select rowid from error where error_id = ?`, id{&errorID}).Scan(&row)
	t.rows[errorID] = row
	return row, err
}

func (t *tx) close() error {
	var all []error
	for _, s := range t.prepared {
		all = append(all, s.Close())
	}
	return errors.Join(append(all, t.conn.Close())...)
}

// rowScanner is a *sql.Row, or the reason why there is none.
type rowScanner interface{ Scan(dest ...any) error }

type failed struct{ error }

func (f failed) Scan(...any) error { return f.error }

// collect reads all rows into values of one type and closes them.
func collect[T any](rows *sql.Rows, fields func(*T) []any) (list []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// each runs a statement once for every record.
func each[T any](t *tx, query string, records []T, fields func(*T) []any) error {
	for i := range records {
		if err := t.exec(query, fields(&records[i])...); err != nil {
			return err
		}
	}
	return nil
}

// collectAll reads rows within the transaction.
func collectAll[T any](t *tx, fields func(*T) []any, query string, args ...any) ([]T, error) {
	rows, err := t.query(query, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, fields)
}
