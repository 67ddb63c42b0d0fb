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
	r.mu.RLock()
	s := r.prepared[text]
	r.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	s, err := r.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.prepared[text]; first != nil {
		return first, s.Close()
	}
	r.prepared[text] = s
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
