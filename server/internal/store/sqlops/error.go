package sqlops

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Report records failures in order. Where two first reports of one key meet, the
// later one starts over and finds the earlier.
func (v Ops) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	load := func(tx Tx) (*store.UnitOfWork, error) { return tx.LoadReports(reports) }
	return sqldb.Decide(ctx, v.db, "report", now, reports, load, (*store.UnitOfWork).Report, save)
}

// errPreviewed ends a transaction of which nothing is to stay.
var errPreviewed = errors.New("previewed")

// PreviewReports decides reports as Report does, and rolls back.
func (v Ops) PreviewReports(ctx context.Context, now time.Time, reports []store.Report) (outcomes []store.Outcome, err error) {
	if len(reports) == 0 {
		return nil, nil
	}
	decided := false
	err = v.db.Act(ctx, "preview reports", now, func(tx Tx) error {
		w, err := tx.LoadReports(reports)
		if err != nil {
			return err
		}
		outcomes = make([]store.Outcome, len(reports))
		for i := range reports {
			outcomes[i] = w.Report(reports[i])
		}
		decided = true
		return errPreviewed
	})
	if decided {
		return outcomes, nil
	}
	return nil, err
}

// ApplySteps applies inputs to stored errors, in order, each under a lock on its
// row. Errors that are not in their table any more are looked for in the archive.
// Results to which a remembered decision applies are recorded first, all together.
func (v Ops) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	return sqldb.ActAt(ctx, v.db, "apply steps", now, func(tx Tx) ([]store.Outcome, error) {
		outcomes := make([]store.Outcome, len(steps))
		left, err := tx.ApplyCached(steps, outcomes)
		if err != nil || len(left) == 0 {
			return outcomes, err
		}
		rest := make([]store.Step, len(left))
		for i, place := range left {
			rest[i] = steps[place]
		}
		w, err := tx.LoadSteps(rest)
		if err != nil {
			return nil, err
		}
		for _, place := range left {
			outcomes[place] = w.Step(steps[place])
		}
		return outcomes, save(tx, w)
	})
}
