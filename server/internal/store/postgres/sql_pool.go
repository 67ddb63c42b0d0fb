package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// pool is connections of a store. Behind a pooler that shares sessions, what
// statements rely on is set for each transaction, in the round trip of its first
// statement; a direct session has it from its start.
type pool struct {
	*pgxpool.Pool
	settings string // the statement that sets it; empty: a direct session
}

func newPool(ctx context.Context, config *pgxpool.Config, settings string) (*pool, error) {
	connections, err := pgxpool.NewWithConfig(ctx, config)
	return &pool{connections, settings}, err
}

// Query is [pgxpool.Pool.Query].
func (p *pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if p.settings == "" {
		return p.Pool.Query(ctx, sql, args...)
	}
	if len(args) > 0 {
		if _, is := args[0].(pgx.QueryExecMode); is { // a batch has none, and nothing is prepared
			args = args[1:]
		}
	}
	return p.ask(ctx, batchOfOne(sql, args))
}

// Change answers with the row of a statement that writes, and is refused to a leader whose
// term is over.
func (p *pool) Change(ctx context.Context, sql string, args ...any) pgx.Row {
	if _, led := store.TermOf(ctx); !led {
		return p.QueryRow(ctx, sql, args...)
	}
	rows, err := p.ask(ctx, fenced(ctx, batchOfOne(sql, args)))
	return onlyRow{rows, err}
}

// ask answers with the rows of the first statement of a batch.
func (p *pool) ask(ctx context.Context, b *pgx.Batch) (pgx.Rows, error) {
	results := p.send(ctx, b)
	if p.settings != "" {
		if _, err := results.Exec(); err != nil {
			return nil, errors.Join(err, results.Close())
		}
	}
	rows, err := results.Query()
	if err != nil {
		return nil, errors.Join(err, results.Close())
	}
	return &batchRows{Rows: rows, results: results}, nil
}

// QueryRow is [pgxpool.Pool.QueryRow].
func (p *pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if p.settings == "" {
		return p.Pool.QueryRow(ctx, sql, args...)
	}
	rows, err := p.Query(ctx, sql, args...)
	return onlyRow{rows, err}
}

// Exec is [pgxpool.Pool.Exec], refused to a leader whose term is over.
func (p *pool) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if _, led := store.TermOf(ctx); p.settings == "" && !led {
		return p.Pool.Exec(ctx, sql, args...)
	}
	b := batchOfOne(sql, args)
	b.QueuedQueries[0].Exec(func(t pgconn.CommandTag) error { tag = t; return nil })
	return tag, p.SendBatch(ctx, b).Close()
}

// SendBatch is [pgxpool.Pool.SendBatch], refused to a leader whose term is over. Behind a
// pooler the first result is that of the settings.
func (p *pool) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return p.send(ctx, fenced(ctx, b))
}

// fenced ends a batch, which is one transaction, by holding the term of its caller.
func fenced(ctx context.Context, b *pgx.Batch) *pgx.Batch {
	if term, led := store.TermOf(ctx); led {
		b.Queue(holdTerm, term.Name, term.Number)
	}
	return b
}

func (p *pool) send(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if p.settings == "" {
		return p.Pool.SendBatch(ctx, b)
	}
	all := batchOfOne(p.settings, nil)
	all.QueuedQueries = append(all.QueuedQueries, b.QueuedQueries...)
	return p.Pool.SendBatch(ctx, all)
}

// Begin is [pgxpool.Pool.Begin].
func (p *pool) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := p.Pool.Begin(ctx)
	if err != nil || p.settings == "" {
		return tx, err
	}
	if _, err := tx.Exec(ctx, p.settings); err != nil {
		return nil, errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
	}
	return tx, nil
}

func batchOfOne(sql string, args []any) *pgx.Batch {
	b := &pgx.Batch{}
	b.Queue(sql, args...)
	return b
}

// batchRows is the answer to the last statement of a batch, which ends with it.
type batchRows struct {
	pgx.Rows
	results pgx.BatchResults
	end     error
}

func (r *batchRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *batchRows) Close() {
	r.Rows.Close()
	if err := r.results.Close(); r.end == nil {
		r.end = err
	}
}

func (r *batchRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.end
}

// onlyRow is the first row of an answer.
type onlyRow struct {
	rows pgx.Rows
	err  error
}

// Scan implements [pgx.Row].
func (r onlyRow) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
