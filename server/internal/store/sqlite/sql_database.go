package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// database implements [sqlops.DB].
type database struct{ *Store }

// Act implements [sqldb.Transactor].
func (d database) Act(ctx context.Context, doing string, at time.Time, do func(sqlops.Tx) error) error {
	return d.writer.doAt(ctx, doing, at, func(t *tx) error { return do(act{t, d.Store}) })
}

// Read implements [sqldb.Reader].
func (d database) Read(ctx context.Context, q *sqldb.Query, into sqldb.Answer) error {
	pool := d.read
	if q.Vital {
		pool = d.vital
	}
	statement, err := pool.shared(ctx, q.SQL())
	if err != nil {
		return translate(err)
	}
	args, err := parameters(q.Args)
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return translate(err)
	}
	return translate(take(rows, into))
}

// Snapshot implements [sqldb.Reader].
func (d database) Snapshot(ctx context.Context, _ string, do func(read func(*sqldb.Query, sqldb.Answer) error) error) error {
	tx, err := d.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return translate(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return do(func(q *sqldb.Query, into sqldb.Answer) error {
		args, err := parameters(q.Args)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, translateSQL(q.SQL()), args...)
		if err != nil {
			return translate(err)
		}
		return translate(take(rows, into))
	})
}

// take reads the rows of an answer and closes them.
func take(rows *sql.Rows, into sqldb.Answer) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	cells, places := make([]cell, len(into.Columns)), make([]any, len(into.Columns))
	for i := range cells {
		places[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		i := into.Next()
		for c := range cells {
			if err := read(&into.Columns[c], &i, cells[c].value); err != nil {
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

// rowsOf reads described rows within a transaction.
func rowsOf[R any](t *tx, columns []sqldb.Column[R], text string, args ...any) (list []R, err error) {
	rows, err := t.query(text, args...)
	if err != nil {
		return nil, err
	}
	err = take(rows, sqldb.Into(&list, columns))
	return list, err
}

// add, set and put write described rows within a transaction, as [act] does.
func add[R any](t *tx, table sqldb.Table[R], records []R) error {
	return act{tx: t}.Add(table.Written().Batch(records))
}

func set[R any](t *tx, table sqldb.Table[R], records []R) error {
	return act{tx: t}.Update(table.Changing().Batch(records))
}

// parameters are arguments as the driver takes them.
func parameters(args []any) ([]any, error) {
	list := slices.Clone(args)
	for i, v := range list {
		var err error
		switch v := v.(type) {
		case recoup.ID:
			list[i] = v[:]
		case [32]byte:
			list[i] = v[:]
		case time.Time:
			list[i] = micros(v)
		case []recoup.ID:
			list[i], err = hexes(v)
		case []string:
			list[i], err = jsonText(v)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func hexes(ids []recoup.ID) (string, error) {
	list := make([]string, len(ids))
	for i := range ids {
		list[i] = hex.EncodeToString(ids[i][:])
	}
	return jsonText(list)
}

func jsonText(list []string) (string, error) {
	b, err := json.Marshal(append([]string{}, list...))
	return string(b), err
}
