package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const (
	// selectImported finds which of many keys a batch has already.
	selectImported = `select import_key from gate_zero_intake indexed by gate_zero_intake_import_key
		where coalesce(batch_id, '') = ? and import_key in (select value from json_each(?))`

	countIntakes = `update gate_zero_count set n = n + ? where batch_id = ? and status = ?`

	selectExists = `select exists (select 1 from gate_zero_intake where intake_id = ?)`
)

// ImportIntakes adds pending intakes to a batch, but for those that it has
// already.
func (s *Store) ImportIntakes(ctx context.Context, batch string, now time.Time, intakes []recoup.Intake) (store.Imported, error) {
	if len(intakes) == 0 {
		return store.Imported{}, nil
	}
	var done store.Imported
	err := s.writer.do(ctx, func(tx *tx) error {
		done = store.Imported{}
		if batch != "" {
			found, err := collectAll(tx, plainText, `select batch_id from gate_zero_batch where batch_id = ?`, batch)
			if _, err := sqldb.One(found, err, "batch "+batch); err != nil {
				return err
			}
		}
		rows := make([]recoup.Intake, len(intakes))
		for i, in := range intakes {
			in.BatchID, in.Status, in.PreviousID, in.CreatedAt, in.UpdatedAt = batch, recoup.IntakePending, recoup.ID{}, now, now
			rows[i] = in
		}
		fresh, err := tx.unknown(batch, rows)
		if err == nil {
			done.Added, err = tx.addIntakes(batch, fresh)
		}
		done.Present = len(rows) - done.Added
		return err
	})
	if err != nil {
		return store.Imported{}, err
	}
	return done, nil
}

// unknown returns the intakes that a batch does not have. If it does not have the
// first, it probably has none, and all are returned: whether one is there is seen
// when it is added.
func (t *tx) unknown(batch string, list []recoup.Intake) ([]recoup.Intake, error) {
	present, err := t.imported(batch, list[:1])
	if err != nil || !present[keyOf(&list[0])] {
		return list, err
	}
	present, err = t.imported(batch, list)
	return slices.DeleteFunc(list, func(i recoup.Intake) bool { return present[keyOf(&i)] }), err
}

// keyOf is what an intake is recognised by.
func keyOf(i *recoup.Intake) string { return cmp.Or(i.ImportKey, i.ID.String()) }

// addIntakes adds pending intakes that agree but for what they are, unless they are
// there: the guards look at the first, which is not, and the others are counted at once.
func (t *tx) addIntakes(batch string, list []recoup.Intake) (added int, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	if err := (act{tx: t}).Add(store.Intakes.Batch(list[:1])); err != nil {
		return 0, err
	}
	if err := t.exec(beginBatch); err != nil {
		return 0, err
	}
	if added, err = t.importRows(list[1:]); err != nil {
		return 0, err
	}
	if err := t.exec(countIntakes, added, batch, string(recoup.IntakePending)); err != nil {
		return 0, err
	}
	return added + 1, t.exec(endBatch)
}

// Intakes of one import differ in ownIntake and agree in the rest.
var (
	sameIntake = store.Intakes.Only("batch_id", "status", "previous_intake_id", "created_at", "updated_at")
	ownIntake  = store.Intakes.But("batch_id", "status", "previous_intake_id", "created_at", "updated_at")

	importOne, importMany = importOf(1), importOf(width)
)

// importOf adds n intakes unless they are there. What they agree in comes first, and
// once. Parameters have no numbers: the driver looks up those that have some by name.
func importOf(n int) string {
	marks := func(count int) string { return "?" + strings.Repeat(", ?", count-1) }
	row := "(" + marks(len(ownIntake.Columns)) + ")"
	names := make([]string, len(ownIntake.Columns))
	for i := range names {
		names[i] = "column" + strconv.Itoa(i+1)
	}
	return translateSQL("insert into " + store.Intakes.Name + " (" + sameIntake.Names("") + ", " + ownIntake.Names("") + ") select " + marks(len(sameIntake.Columns)) + ", " + strings.Join(names, ", ") +
		" from (values " + row + strings.Repeat(", "+row, n-1) + ") where true on conflict do nothing")
}

// importRows adds the intakes of one import unless they are there, and returns how many
// it has added.
func (t *tx) importRows(list []recoup.Intake) (added int, err error) {
	for len(list) > 0 {
		n, text := 1, importOne
		if len(list) >= width {
			n, text = width, importMany
		}
		args, err := values(sameIntake.Columns, &list[0])
		for i := 0; i < n && err == nil; i++ {
			var own []any
			own, err = values(ownIntake.Columns, &list[i])
			args = append(args, own...)
		}
		if err != nil {
			return 0, err
		}
		fresh, err := t.change(text, args...)
		if err != nil {
			return 0, err
		}
		added, list = added+fresh, list[n:]
	}
	return added, nil
}

// imported returns which of the import keys a batch has already. What has none,
// or goes by its own id, is known by that, in whatever batch.
func (t *tx) imported(batch string, intakes []recoup.Intake) (map[string]bool, error) {
	keys, present := make([]string, 0, len(intakes)), make(map[string]bool, len(intakes))
	for _, i := range intakes {
		key := i.ID.String()
		if i.ImportKey != "" && i.ImportKey != key {
			keys = append(keys, i.ImportKey)
			continue
		}
		var there bool
		if err := t.row(selectExists, id{&i.ID}).Scan(&there); err != nil {
			return nil, err
		}
		present[key] = there
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	found, err := collectAll(t, plainText, selectImported, batch, string(list))
	for _, key := range found {
		present[key] = true
	}
	return present, err
}
