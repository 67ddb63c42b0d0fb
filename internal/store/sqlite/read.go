package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/row"
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
	statement, err := s.read.statement(ctx, text)
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

func (s *Store) errors(ctx context.Context, columns []column, text string, args ...any) ([]recoup.Error, error) {
	return query(ctx, s, func(e *recoup.Error) []any { return fields(columns, e) }, text, args...)
}

// Error returns an error from its table or from the archive.
func (s *Store) Error(ctx context.Context, errorID recoup.ID) (recoup.Error, error) {
	found, err := s.errors(ctx, anywhereColumns, selectAnywhere, id{&errorID})
	switch {
	case err != nil:
		return recoup.Error{}, err
	case len(found) == 0:
		return recoup.Error{}, fmt.Errorf("error %v: %w", errorID, store.ErrNotFound)
	}
	return found[0], nil
}

// History returns the history of an error, oldest first.
func (s *Store) History(ctx context.Context, errorID recoup.ID, limit int) ([]recoup.Transition, error) {
	return query(ctx, s, func(t *recoup.Transition) []any { return append(transitionFields(t), new(int64)) }, selectHistory, id{&errorID}, store.Page{Limit: limit}.Size())
}

// selectDeadline says for each deadline which errors have reached it: as
// lifecycle.Deadlines has it, with indexes.
var selectDeadline = map[store.Deadline]string{
	store.DueExpiry: `select error_id from error where expires_at <= ? order by expires_at limit 0 + ? offset 0 + ?`,
	store.DueWindow: `select error_id from error where state = 'RETRY_PENDING' and lease_token is null
		and retry_window_ends_at < ? order by retry_window_ends_at limit 0 + ? offset 0 + ?`,
	store.DueLapse: `select error_id from error where lease_token is not null
		and lease_ends_at <= ? order by lease_ends_at limit 0 + ? offset 0 + ?`,
	store.DueEscalation: `select error_id from error where next_escalation_at <= ? order by next_escalation_at limit 0 + ? offset 0 + ?`,
	store.DueReminder:   `select error_id from error where next_reminder_at <= ? order by next_reminder_at limit 0 + ? offset 0 + ?`,
	store.DueResolved: `select error_id from error where state = 'RESOLVED'
		and resolved_at <= ? order by resolved_at limit 0 + ? offset 0 + ?`,
}

// Due returns ids of errors whose deadline has come, longest overdue first, without
// the first of them.
func (s *Store) Due(ctx context.Context, d store.Deadline, now time.Time, skip, limit int) ([]recoup.ID, error) {
	text, ok := selectDeadline[d]
	if !ok {
		return nil, fmt.Errorf("sqlite: %q is not a deadline", d)
	}
	return query(ctx, s, func(to *recoup.ID) []any { return []any{id{to}} }, text, micros(now), store.Page{Limit: limit}.Size(), max(skip, 0))
}

var selectUnadmitted = selectError + ` where policy_version is null order by created_at limit 0 + ?`

// Unadmitted returns rows written by plain SQL that no engine has seen yet,
// oldest first.
func (s *Store) Unadmitted(ctx context.Context, limit int) ([]recoup.Error, error) {
	return s.errors(ctx, errorColumns, selectUnadmitted, store.Page{Limit: limit}.Size())
}

// described reads described rows with a text that never varies.
func described[R any](ctx context.Context, s *Store, columns []row.Column[R], text string, args ...any) (list []R, err error) {
	statement, err := s.read.statement(ctx, text)
	if err != nil {
		return nil, translate(err)
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return nil, translate(err)
	}
	err = take(rows, row.Into(&list, columns))
	return list, translate(err)
}
