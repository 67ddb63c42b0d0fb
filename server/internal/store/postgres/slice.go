package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What follows is for slices that work on PostgreSQL alone. Other slices use [Store.SQL].

// Pool runs single statements.
type Pool interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Pool returns the connections of the store.
func (s *Store) Pool() Pool { return s.pool }

// Tx is a transaction whose statements go out together, at its commit.
type Tx struct{ t *tx }

// Queue adds a statement.
func (t Tx) Queue(sql string, args ...any) *pgx.QueuedQuery { return t.t.queue(sql, args...) }

// Due returns the argument for the parameter of [ClockOr].
func (t Tx) Due() *time.Time { return t.t.due() }

// Transact runs work in a transaction and commits it together with what work has queued. Where
// others were in the way it starts over, so work must keep nothing between calls.
func (s *Store) Transact(ctx context.Context, doing string, work func(Tx) error) error {
	return s.transact(ctx, doing, time.Time{}, func(t *tx) error { return work(Tx{t}) })
}

// Collect puts the rows of a queued query where into points, when it is sent.
func Collect[R any](q *pgx.QueuedQuery, row pgx.RowToFunc[R], into *[]R) { collect(q, row, into) }

// CollectRows reads all rows of a query.
func CollectRows[R any](doing string, rows pgx.Rows, err error, row pgx.RowToFunc[R]) ([]R, error) {
	return collectRows(doing, rows, err, row)
}

// Failed returns what may be said of an error of the driver: a [Failure], or nil.
func Failed(doing string, err error) error { return failure(doing, err) }

// ClockOr is the time that a parameter says, or else the database's, asked once for the whole
// statement.
func ClockOr(parameter string) string { return clockOr(parameter) }

// NextLane selects the first lane of the queue: of due work d, of work w that is leased, and of
// leases k in batches, each under a condition.
func NextLane(due, work, lease string) string { return nextLane(due, work, lease) }

// IDs are ids as an array.
func IDs(ids []recoup.ID) [][]byte { return raw(ids) }

// Optional is a value, or nil for the zero value.
func Optional[T comparable](v T) *T { return optional(v) }

// Login returns how this node connects to PostgreSQL itself, and the options of the store.
func (s *Store) Login() (*pgx.ConnConfig, Options) { return s.login.Copy(), s.options }

// Address returns the address of PostgreSQL itself, with the user of this node, and the options of the
// store.
func (s *Store) Address() (string, Options) { return cmp.Or(s.options.Direct, s.url), s.options }

// Parse reads an address, as [Open] does.
func Parse(url string) (*pgx.ConnConfig, error) { return parse(url) }

// Querier asks in a transaction that only reads.
type Querier = querier

// Look is one question of an inspection, in a transaction of its own.
type Look struct {
	What string
	Ask  func(ctx context.Context, q Querier, f *store.Facts) error
}

// AddInspection adds questions to inspections, and what is done once they are answered. It is called
// before the first act.
func (s *Store) AddInspection(looks []Look, examine func(context.Context, *store.Facts)) {
	s.looks, s.examine = append(s.looks, looks...), append(s.examine, examine)
}
