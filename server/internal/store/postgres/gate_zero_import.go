package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// intakeColumns are those of intakes on the wire.
var intakeColumns = columns(store.Intakes.Columns)

// ImportIntakes adds pending intakes to a batch. They are copied in one go; only
// if that meets some that are there already, which is what a repeated import
// does, are they looked at one by one.
func (s *Store) ImportIntakes(ctx context.Context, batch string, now time.Time, intakes []recoup.Intake) (store.Imported, error) {
	if len(intakes) == 0 {
		return store.Imported{}, nil
	}
	rows := slices.Clone(intakes)
	for i := range rows {
		r := &rows[i]
		r.BatchID, r.Status, r.PreviousID, r.CreatedAt, r.UpdatedAt = batch, recoup.IntakePending, recoup.ID{}, now, now
	}
	added, err := s.importRows(ctx, batch, rows, copyIntakes)
	var known *Failure
	if errors.As(err, &known) && known.State == uniqueViolation {
		added, err = s.importRows(ctx, batch, rows, insertNewIntakes)
	}
	if err != nil {
		return store.Imported{}, err
	}
	return store.Imported{Added: added, Present: len(rows) - added}, nil
}

// importRows writes rows into a batch that is known to exist. It does not hold
// the batch: a kill switch must not wait for a long import.
func (s *Store) importRows(ctx context.Context, batch string, rows []recoup.Intake,
	write func(context.Context, *tx, []recoup.Intake) (int, error)) (added int, err error) {
	err = s.transact(ctx, "import intakes", time.Time{}, func(t *tx) error {
		var found []string
		collect(t.queue("select batch_id from cl.gate_zero_batch where batch_id = $1", batch), pgx.RowTo[string], &found)
		if err := t.send(ctx); err != nil {
			return err
		}
		if batch != "" {
			if _, err := sqldb.One(found, nil, "batch "+batch); err != nil {
				return err
			}
		}
		added, err = write(ctx, t, rows)
		return err
	})
	return added, err
}

func copyIntakes(ctx context.Context, t *tx, rows []recoup.Intake) (int, error) {
	return t.copy(ctx, store.Intakes.Name, names(intakeColumns, ""), copyRows(intakeColumns, rows))
}

func insertNewIntakes(ctx context.Context, t *tx, rows []recoup.Intake) (added int, err error) {
	// In the order of their keys, so that two imports do not wait for each other.
	slices.SortStableFunc(rows, func(a, b recoup.Intake) int { return strings.Compare(a.ImportKey, b.ImportKey) })
	var ids []recoup.ID
	b := newBatch(intakeColumns, pointers(rows))
	collect(t.queue(b.insert("cl.gate_zero_intake")+` on conflict do nothing returning intake_id`, b.args...), pgx.RowTo[recoup.ID], &ids)
	err = t.send(ctx)
	return len(ids), err
}
