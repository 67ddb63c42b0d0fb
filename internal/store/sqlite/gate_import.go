package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"recoup"
	"recoup/internal/store"
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
			if _, err := one(found, err, "batch "+batch); err != nil {
				return err
			}
		}
		present, err := tx.imported(batch, intakes)
		if err != nil {
			return err
		}
		fresh := make([]recoup.Intake, 0, len(intakes))
		for _, i := range intakes {
			key := cmp.Or(i.ImportKey, i.ID.String())
			if present[key] {
				done.Present++
				continue
			}
			present[key] = true
			i.BatchID, i.Status, i.PreviousID, i.CreatedAt, i.UpdatedAt = batch, recoup.IntakePending, recoup.ID{}, now, now
			fresh = append(fresh, i)
		}
		done.Added = len(fresh)
		return tx.addIntakes(batch, fresh)
	})
	if err != nil {
		return store.Imported{}, err
	}
	return done, nil
}

// addIntakes adds pending intakes that agree but for what they are: the guards look
// at the first, and the others are counted at once.
func (t *tx) addIntakes(batch string, list []recoup.Intake) error {
	first := min(1, len(list))
	if err := (act{tx: t}).Add(store.Intakes.Batch(list[:first])); err != nil || len(list) == first {
		return err
	}
	if err := t.exec(beginBatch); err != nil {
		return err
	}
	if err := (act{tx: t}).Add(store.Intakes.Batch(list[first:])); err != nil {
		return err
	}
	if err := t.exec(countIntakes, len(list)-first, batch, string(recoup.IntakePending)); err != nil {
		return err
	}
	return t.exec(endBatch)
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
