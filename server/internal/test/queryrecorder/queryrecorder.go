// Package queryrecorder is a database that only records: it answers every query
// with one empty row, so that tests can get the statements of an operation and check
// their plans.
package queryrecorder

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// Asked is a statement that an operation has run.
type Asked struct {
	SQL  string
	Args []any
}

// Of returns the statements of an operation in a dialect, in order.
func Of(d sqldb.Dialect, do func(sqlops.Ops)) []Asked {
	n := notes{dialect: d}
	do(sqlops.New(&n))
	return n.asked
}

type notes struct {
	dialect sqldb.Dialect
	asked   []Asked
}

func (n *notes) note(sql string, args []any) { n.asked = append(n.asked, Asked{sql, args}) }

func (n *notes) Act(_ context.Context, _ string, at time.Time, do func(sqlops.Tx) error) error {
	return do(transaction{n, at})
}

func (n *notes) Read(_ context.Context, q *sqldb.Query, into sqldb.Answer) error {
	n.note(q.SQL(), q.Args)
	into.Next()
	return nil
}

func (n *notes) Snapshot(ctx context.Context, _ string, do func(func(*sqldb.Query, sqldb.Answer) error) error) error {
	return do(func(q *sqldb.Query, into sqldb.Answer) error { return n.Read(ctx, q, into) })
}

func (n *notes) Dialect() sqldb.Dialect { return n.dialect }

func (n *notes) Lanes(context.Context, int) ([]recoup.Lane, error) { return nil, nil }

func (n *notes) LaneLevels(context.Context, time.Time, []recoup.Lane, int) ([]store.LaneLevel, error) {
	return nil, nil
}

func (n *notes) Beyond(context.Context, time.Time, recoup.Lane, int) (store.LaneLevel, error) {
	return store.LaneLevel{}, nil
}

func (n *notes) Blockers(context.Context, string) ([]recoup.Error, error) { return nil, nil }

func (n *notes) Unclaimed(context.Context, time.Time, []string, []recoup.Lane, int) ([]store.Unclaimed, error) {
	return nil, nil
}

// transaction takes notes of a transaction.
type transaction struct {
	*notes
	now time.Time
}

func (t transaction) Query(q *sqldb.Query, into sqldb.Answer) error { return t.QueryLater(q, into) }
func (t transaction) Lock(q *sqldb.Query, into sqldb.Answer) error  { return t.QueryLater(q, into) }
func (t transaction) QueryLater(q *sqldb.Query, into sqldb.Answer) error {
	return t.Read(context.Background(), q, into)
}
func (t transaction) Now() time.Time                   { return t.now }
func (t transaction) Due() any                         { return t.now }
func (t transaction) LockRows(sql string, args ...any) { t.note(sql, args) }

func (t transaction) Do(sql string, args ...any) error {
	t.note(sql, args)
	return nil
}

func (t transaction) Change(sql string, args ...[]any) (int, error) {
	for _, list := range args {
		t.note(sql, list)
	}
	return len(args), nil
}

func (transaction) Add(sqldb.Batch) error                  { return nil }
func (transaction) InsertNew(sqldb.Batch) (int, error)     { return 1, nil }
func (transaction) InsertIgnore(sqldb.Batch) error         { return nil }
func (transaction) Upsert(sqldb.Batch) error               { return nil }
func (transaction) Update(sqldb.Batch) error               { return nil }
func (t transaction) Copy(b sqldb.Batch) (int, error)      { return b.Len, nil }
func (t transaction) CopyNew(b sqldb.Batch) (int, error)   { return b.Len, nil }
func (transaction) Acquire(sqldb.AdvisoryLock, bool) error { return nil }
func (transaction) Wake(string)                            {}
func (transaction) SecureDelete()                          {}

func (t transaction) LoadReports([]store.Report) (*store.UnitOfWork, error) {
	return store.NewUnitOfWork(t.now, nil), nil
}
func (t transaction) LoadSteps([]store.Step) (*store.UnitOfWork, error) {
	return store.NewUnitOfWork(t.now, nil), nil
}

func (t transaction) ApplyCached([]store.Step, []store.Outcome) ([]int, error) { return nil, nil }
func (transaction) SaveErrors(*store.UnitOfWork) error                         { return nil }
func (transaction) Promote(store.Promotion, *store.Promoted) error             { return nil }
func (transaction) HoldWork(_, _ []recoup.ID) error                            { return nil }
func (transaction) Leased(*recoup.WorkItem)                                    {}
func (transaction) Fence(_, _ recoup.ID) error                                 { return nil }
func (transaction) SaveQueue(_ []recoup.WorkItem, _ []store.Change[recoup.WorkItem], _ []recoup.WorkItem) error {
	return nil
}
