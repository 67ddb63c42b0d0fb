package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var (
	terms = sqldb.NewRepository(store.Terms, "leadership")
	jobs  = sqldb.NewRepository(store.Jobs, "job")

	// heldJobs are jobs with the term of who writes them, by which the database
	// refuses a leader whose term is over.
	heldJobs = sqldb.NewRepository(sqldb.Table[heldJob]{Name: store.Jobs.Name, Columns: append(
		sqldb.Within("", store.Jobs.Columns, func(j *heldJob) *store.Job { return &j.Job }),
		sqldb.Text("leader", func(j *heldJob) *string { return &j.term.Name }),
		sqldb.Big("term", func(j *heldJob) *int64 { return &j.term.Number }))}, "job")
)

type heldJob struct {
	store.Job
	term store.Term
}

// Lead bids for a leadership. Bids for one take turns at its row.
func (v Ops) Lead(ctx context.Context, b store.Bid) (term store.Term, held bool, err error) {
	term, err = sqldb.ActAt(ctx, v.db, "lead", b.Now, func(tx Tx) (store.Term, error) {
		if _, err := terms.InsertNew(tx, store.Term{Name: b.Name}); err != nil {
			return store.Term{}, err
		}
		last, err := terms.Lock(tx, b.Name, b.Name)
		if err != nil {
			return last, err
		}
		bid := b
		bid.Now = tx.Now()
		next, won := last.Bid(bid)
		if held = won; won {
			err = terms.Update(tx, next)
		}
		return next, err
	})
	return term, held && err == nil, err
}

// Resign ends a term before its time. One that is over already is none to end.
func (v Ops) Resign(ctx context.Context, term store.Term) error {
	return v.db.Act(ctx, "resign", time.Time{}, func(tx Tx) error {
		return tx.Do(`update recoup.leader set holder = null, ends_at = null
			where name = $1 and number = $2 and holder = $3`, term.Name, term.Number, term.Holder)
	})
}

// Leader returns the last term of a leadership; the zero term if there was none.
func (v Ops) Leader(ctx context.Context, name string) (store.Term, error) {
	found, err := terms.List(ctx, v.db, terms.Select("read who leads", "where name = $1", name))
	return append(found, store.Term{})[0], err
}

// SaveJob notes how a job went. The database refuses it from a leader whose term
// is over.
func (v Ops) SaveJob(ctx context.Context, term store.Term, job store.Job) error {
	return v.db.Act(ctx, "save a job", time.Time{}, func(tx Tx) error { return heldJobs.Upsert(tx, heldJob{job, term}) })
}

// Jobs returns all jobs, by name.
func (v Ops) Jobs(ctx context.Context) ([]store.Job, error) {
	return jobs.List(ctx, v.db, jobs.Select("read jobs", "order by name limit $1", sqldb.MaxPage))
}
