package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
)

var (
	selectError  = `select ` + names(errorColumns) + ` from error`
	selectStored = `select rowid, ` + names(errorColumns) + ` from error`

	// An error stands in its table or in the archive, never in both.
	selectAnywhere = `select ` + names(errorColumns) + `, null, null, null, null, null, null from error where error_id = ?1
		union all select ` + names(allColumns) + ` from error_archive where error_id = ?1`

	selectMany = `select e.rowid, e.` + strings.ReplaceAll(names(errorColumns), ", ", ", e.") +
		` from json_each(?) j cross join error e on e.error_id = unhex(j.value)`
	selectArchived = `select ` + names(allColumns) + ` from error_archive where error_id = ?`

	selectOpen = selectStored + ` indexed by error_open_key
		where coalesce(reported_table, table_name) = ? and entity_id = ? and code = ? and replaceable`
)

// Report records failures in order.
func (s *Store) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	outcomes := make([]store.Outcome, len(reports))
	err := s.writer.doAt(ctx, now, func(tx *tx) error {
		w, err := tx.loadReports(reports)
		if err != nil {
			return err
		}
		keys := store.ReceiptKeys(reports, func(r *store.Report) *store.Receipt { return r.Receipt })
		if w.Receipts, err = tx.findReceipts(tx.now, keys); err != nil {
			return err
		}
		for i, r := range reports {
			outcomes[i] = w.Report(r)
		}
		return tx.save(w)
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// loadReports loads the open errors that reports replace and the rows that they
// admit.
func (t *tx) loadReports(reports []store.Report) (*store.Work, error) {
	var rows []recoup.Error
	for _, r := range reports {
		open, err := t.stored(selectOpen, r.Table, r.Entity, string(r.Code))
		if err != nil {
			return nil, err
		}
		rows = append(rows, open...)
		if r.Admits.IsZero() {
			continue
		}
		written, err := t.stored(selectStored+` where error_id = ?`, id{&r.Admits})
		if err != nil {
			return nil, err
		}
		rows = append(rows, written...)
	}
	w := store.NewWork(t.now, rows)
	for _, r := range reports {
		if err := t.loadStreak(w, store.StreakKey{Family: r.Family, Entity: r.Entity}); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// ApplySteps applies inputs to stored errors, in order.
func (s *Store) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	outcomes := make([]store.Outcome, len(steps))
	err := s.writer.doAt(ctx, now, func(tx *tx) error {
		rest, err := tx.settle(s.memory, steps, outcomes)
		if err != nil || len(rest) == 0 {
			return err
		}
		w, err := tx.loadSteps(steps, rest)
		if err != nil {
			return err
		}
		w.Memory = s.memory
		keys := store.ReceiptKeys(steps, func(s *store.Step) *store.Receipt { return s.Receipt })
		if w.Receipts, err = tx.findReceipts(tx.now, keys); err != nil {
			return err
		}
		for _, i := range rest {
			outcomes[i] = w.Step(steps[i])
		}
		return tx.save(w)
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// loadSteps loads the errors that the steps at some places are about.
func (t *tx) loadSteps(steps []store.Step, places []int) (*store.Work, error) {
	rows, err := t.loadErrors(len(places), func(i int) *recoup.ID { return &steps[places[i]].ID })
	if err != nil {
		return nil, err
	}
	w := store.NewWork(t.now, rows)
	for _, i := range places {
		if err := t.loadStreak(w, steps[i].Streak(w.Was(steps[i].ID))); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// loadErrors reads errors by their ids: those that nobody remembers at once, and
// those that their table does not have from the archive.
func (t *tx) loadErrors(n int, at func(int) *recoup.ID) ([]recoup.Error, error) {
	rows, others, err := t.recall(n, at)
	if err != nil || len(others) == 0 {
		return rows, err
	}
	ids := make([]string, len(others))
	for i, id := range others {
		ids[i] = hex.EncodeToString(id[:])
	}
	wanted, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found, err := t.stored(selectMany, string(wanted))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		rows = found
	} else {
		rows = append(rows, found...)
	}
	if len(found) == len(others) {
		return rows, nil
	}
	for _, other := range others {
		if _, here := t.rows[*other]; here {
			continue
		}
		archived, err := t.errors(allColumns, selectArchived, id{other})
		if err != nil {
			return nil, err
		}
		rows = append(rows, archived...)
	}
	return rows, nil
}
