package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// A statement with "limit ?" would be prepared anew for every value, because the
// planner weighs it; behind the plus it does not see it.

// reader is the pool of connections that read, with its prepared statements.
type reader struct {
	*sql.DB
	mu       sync.RWMutex
	prepared map[string]*sql.Stmt
}

// statement prepares each text once. It is for texts that never vary.
func (r *reader) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := r.known(text); s != nil {
		return s, nil
	}
	return r.prepare(ctx, text, text)
}

// shared is [reader.statement] for a text that is written for PostgreSQL.
func (r *reader) shared(ctx context.Context, text string) (*sql.Stmt, error) {
	if s := r.known(text); s != nil {
		return s, nil
	}
	return r.prepare(ctx, text, translateSQL(text))
}

func (r *reader) known(key string) *sql.Stmt {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.prepared[key]
}

// prepare prepares a text and keeps the statement under a key.
func (r *reader) prepare(ctx context.Context, key, text string) (*sql.Stmt, error) {
	s, err := r.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.prepared[key]; first != nil {
		return first, s.Close()
	}
	r.prepared[key] = s
	return s, nil
}

// query reads the rows of a text that never varies into values of one type.
func query[T any](ctx context.Context, s *Store, fields func(*T) []any, text string, args ...any) ([]T, error) {
	return queryBy(ctx, s.read, fields, text, args...)
}

// queryBy is [query] by the connections of a pool.
func queryBy[T any](ctx context.Context, pool *reader, fields func(*T) []any, text string, args ...any) ([]T, error) {
	statement, err := pool.statement(ctx, text)
	if err != nil {
		return nil, translate(err)
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return nil, translate(err)
	}
	list, err := collect(rows, fields)
	return list, translate(err)
}
