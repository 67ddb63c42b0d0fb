package sqlite

import (
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

var (
	selectStored = `select rowid, ` + names(errorColumns) + ` from error`

	selectMany     = selectByID(errorColumns)
	selectArchived = `select ` + names(archivedColumns) + ` from error_archive where error_id = ?`

	selectKnown = `select unhex(j.value) from json_each(?) j where exists (select 1 from error where error_id = unhex(j.value))
		or exists (select 1 from error_archive where error_id = unhex(j.value))`

	selectOpen = selectStored + ` indexed by error_open_key
		where coalesce(reported_table, table_name) = ? and entity_id = ? and code = ? and replaceable`
)

// selectByID reads columns of errors, with the numbers of their rows.
func selectByID(columns []column) string {
	return `select e.rowid, e.` + strings.ReplaceAll(names(columns), ", ", ", e.") + ` from json_each(?) j cross join error e on e.error_id = unhex(j.value)`
}

// LoadReports implements [sqlops.Tx].
func (a act) LoadReports(reports []store.Report) (*store.UnitOfWork, error) {
	t, rows := a.tx, []recoup.Error(nil)
	for _, r := range reports {
		open, err := t.stored(selectOpen, r.Table, r.Entity, string(r.Code))
		if err != nil {
			return nil, err
		}
		rows = append(rows, open...)
		for _, named := range []recoup.ID{r.Admits, r.Replaces} {
			if named.IsZero() {
				continue
			}
			found, err := t.stored(selectStored+` where error_id = ?`, id{&named})
			if err != nil {
				return nil, err
			}
			rows = append(rows, found...)
		}
	}
	w := store.NewUnitOfWork(t.now, rows)
	for _, r := range reports {
		if err := t.loadStreak(w, store.StreakKey{Family: r.Family, Entity: r.Entity}); err != nil {
			return nil, err
		}
	}
	known, err := a.known(store.ReportIDs(reports))
	if err != nil {
		return nil, err
	}
	w.Know(known)
	w.Receipts, err = sqlops.FindReceipts(a, store.ReceiptKeys(reports, func(r *store.Report) *store.Receipt { return r.Receipt }))
	return w, err
}

// known returns which ids errors have already, open or archived.
func (t *tx) known(ids []recoup.ID) ([]recoup.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	wanted, err := hexes(ids)
	if err != nil {
		return nil, err
	}
	return collectAll(t, func(to *recoup.ID) []any { return []any{id{to}} }, selectKnown, wanted)
}

// ApplyCached implements [sqlops.Tx].
func (a act) ApplyCached(steps []store.Step, outcomes []store.Outcome) (left []int, err error) {
	return a.applyRemembered(a.store.memory, steps, outcomes)
}

// LoadSteps implements [sqlops.Tx].
func (a act) LoadSteps(steps []store.Step) (*store.UnitOfWork, error) {
	rows, err := a.loadErrors(len(steps), func(i int) *recoup.ID { return &steps[i].ID })
	if err != nil {
		return nil, err
	}
	w := store.NewUnitOfWork(a.now, rows)
	for _, step := range steps {
		if err := a.loadStreak(w, step.Streak(w.Was(step.ID))); err != nil {
			return nil, err
		}
	}
	w.Memory = a.store.memory
	w.Receipts, err = sqlops.FindReceipts(a, store.ReceiptKeys(steps, func(s *store.Step) *store.Receipt { return s.Receipt }))
	return w, err
}

// SaveErrors implements [sqlops.Tx].
func (a act) SaveErrors(w *store.UnitOfWork) error {
	if err := a.save(w); err != nil {
		return err
	}
	return w.WriteAttached(a)
}

// loadErrors reads errors by their ids: those that nobody remembers at once, and
// those that their table does not have from the archive.
func (t *tx) loadErrors(n int, at func(int) *recoup.ID) ([]recoup.Error, error) {
	rows, others, err := t.recall(n, at)
	if err != nil || len(others) == 0 {
		return rows, err
	}
	ids := make([]recoup.ID, len(others))
	for i, id := range others {
		ids[i] = *id
	}
	wanted, err := hexes(ids)
	if err != nil {
		return nil, err
	}
	found, err := t.stored(selectMany, wanted)
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
		archived, err := t.errors(archivedColumns, selectArchived, id{other})
		if err != nil {
			return nil, err
		}
		rows = append(rows, archived...)
	}
	return rows, nil
}
