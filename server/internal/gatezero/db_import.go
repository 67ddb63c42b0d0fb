package gatezero

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// ImportIntakes adds pending intakes to a batch, or, without one, to none.
// Those whose import key the batch has already are left as they are, so that
// an import that broke off is simply run again; so are those whose id is known
// and that have no key, or their id for a key. It returns ErrNotFound
// for an unknown batch, and ErrRefused if something is new to a batch
// whose import was declared complete.
func (s *Store) ImportIntakes(ctx context.Context, batch string, now time.Time, intakes []recoup.Intake) (ImportCount, error) {
	if len(intakes) == 0 {
		return ImportCount{}, nil
	}
	rows := slices.Clone(intakes)
	for i := range rows {
		r := &rows[i]
		r.BatchID, r.Status, r.PreviousID, r.CreatedAt, r.UpdatedAt = batch, recoup.IntakePending, recoup.ID{}, now, now
	}
	write := copyIntakes
	if s.db.Dialect() == sqldb.SQLite {
		write = importCounted
	}
	added, err := s.importRows(ctx, batch, rows, write)
	if errors.Is(err, sqldb.ErrDuplicate) { // some are there already, which is what a repeated import does
		added, err = s.importRows(ctx, batch, rows, insertIntakes)
	}
	if err != nil {
		return ImportCount{}, err
	}
	return ImportCount{Added: added, Present: len(rows) - added}, nil
}

// importRows writes rows into a batch that is known to exist. It does not hold
// the batch: a kill switch must not wait for a long import.
func (s *Store) importRows(ctx context.Context, batch string, rows []recoup.Intake,
	write func(tx sqldb.Tx, batch string, rows []recoup.Intake) (int, error)) (int, error) {
	return sqldb.Act(ctx, s.db, "import intakes", func(tx sqldb.Tx) (int, error) {
		if batch != "" {
			found, err := textsOf(tx, "select batch_id from cl.gate_zero_batch where batch_id = $1", batch)
			if _, err := sqldb.One(found, err, batches.Label(batch)); err != nil {
				return 0, err
			}
		}
		return write(tx, batch, slices.Clone(rows))
	})
}

// textsOf reads rows of one text.
func textsOf(tx sqldb.Tx, sql string, args ...any) (list []string, err error) {
	err = tx.Query(sqldb.NewQuery("", sql, args...), sqldb.Into(&list, sqldb.Fields(func(s *string) []any { return []any{s} })))
	return list, err
}

// copyIntakes adds rows of which none is there, in one go.
func copyIntakes(tx sqldb.Tx, _ string, rows []recoup.Intake) (int, error) {
	return intakes.Copy(tx, rows)
}

// insertIntakes adds those that are not there, in the order of their keys, so that two
// imports do not wait for each other.
func insertIntakes(tx sqldb.Tx, _ string, rows []recoup.Intake) (int, error) {
	slices.SortStableFunc(rows, func(a, b recoup.Intake) int { return strings.Compare(a.ImportKey, b.ImportKey) })
	return intakes.CopyNew(tx, rows)
}

// importCounted adds those that are not there on SQLite, whose triggers count row by row: the
// guards look at the first, which is not there, and the others are counted at once.
func importCounted(tx sqldb.Tx, batch string, rows []recoup.Intake) (added int, err error) {
	fresh, err := unknown(tx, batch, rows)
	if err != nil || len(fresh) == 0 {
		return 0, err
	}
	err = sqldb.InOrder(
		func() error { return intakes.Add(tx, fresh[0]) },
		func() error { return tx.Do("update recoup.tally set batch = 1") },
		func() error { added, err = intakes.CopyNew(tx, fresh[1:]); return err },
		func() error {
			return tx.Do("update cl.gate_zero_count set n = n + $1 where batch_id = $2 and status = $3", added, batch, string(recoup.IntakePending))
		},
		func() error { return tx.Do("update recoup.tally set batch = 0") },
	)
	return added + 1, err
}

// unknown returns the intakes that a batch does not have. If it does not have the
// first, it probably has none, and all are returned: whether one is there is seen
// when it is added.
func unknown(tx sqldb.Tx, batch string, list []recoup.Intake) ([]recoup.Intake, error) {
	present, err := imported(tx, batch, list[:1])
	if err != nil || !present[keyOf(&list[0])] {
		return list, err
	}
	present, err = imported(tx, batch, list)
	return slices.DeleteFunc(list, func(i recoup.Intake) bool { return present[keyOf(&i)] }), err
}

// keyOf is what an intake is recognised by.
func keyOf(i *recoup.Intake) string { return cmp.Or(i.ImportKey, i.ID.String()) }

// imported returns which of the import keys a batch has already. What has none,
// or goes by its own id, is known by that, in whatever batch.
func imported(tx sqldb.Tx, batch string, list []recoup.Intake) (map[string]bool, error) {
	var ids []recoup.ID
	var keys []string
	for i := range list {
		if key := keyOf(&list[i]); key != list[i].ID.String() {
			keys = append(keys, key)
		} else {
			ids = append(ids, list[i].ID)
		}
	}
	var known []recoup.ID
	if err := tx.Query(sqldb.NewQuery("", "select intake_id from cl.gate_zero_intake where intake_id"+tx.Dialect().AnyID("$1"), ids), sqldb.Into(&known, sqldb.IDColumn())); err != nil {
		return nil, err
	}
	found, err := textsOf(tx, `select import_key from cl.gate_zero_intake /*by gate_zero_intake_import_key*/
		where coalesce(batch_id, '') = $1 and import_key`+tx.Dialect().AnyText("$2"), batch, keys)
	present := make(map[string]bool, len(list))
	for _, id := range known {
		present[id.String()] = true
	}
	for _, key := range found {
		present[key] = true
	}
	return present, err
}
