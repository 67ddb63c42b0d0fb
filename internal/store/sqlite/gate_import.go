package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"recoup"
	"recoup/internal/store"
)

// selectImported finds which of many keys a batch has already.
const selectImported = `select import_key from gate_zero_intake indexed by gate_zero_intake_import_key
	where coalesce(batch_id, '') = ? and import_key in (select value from json_each(?))`

// ImportIntakes adds pending intakes to a batch, but for those that it has
// already.
func (s *Store) ImportIntakes(ctx context.Context, batch string, now time.Time, intakes []store.Intake) (store.Imported, error) {
	if len(intakes) == 0 {
		return store.Imported{}, nil
	}
	var done store.Imported
	err := s.writer.do(ctx, func(tx *tx) error {
		done = store.Imported{}
		if batch != "" {
			found, err := collectAll(tx, batchFields, selectBatch+` where batch_id = ?`, batch)
			if _, err := one(found, err, "batch "+batch); err != nil {
				return err
			}
		}
		present, err := tx.imported(batch, intakes)
		if err != nil {
			return err
		}
		for _, i := range intakes {
			if i.ImportKey != "" && present[i.ImportKey] {
				done.Present++
				continue
			}
			present[i.ImportKey] = true
			i.BatchID, i.Status, i.PreviousID, i.CreatedAt, i.UpdatedAt = batch, store.IntakePending, recoup.ID{}, now, now
			if err := tx.exec(insertIntake, intakeFields(&i)...); err != nil {
				return err
			}
			done.Added++
		}
		return nil
	})
	if err != nil {
		return store.Imported{}, err
	}
	return done, nil
}

// imported returns which of the import keys a batch has already.
func (t *tx) imported(batch string, intakes []store.Intake) (map[string]bool, error) {
	keys := make([]string, 0, len(intakes))
	for i := range intakes {
		if key := intakes[i].ImportKey; key != "" {
			keys = append(keys, key)
		}
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	found, err := collectAll(t, func(key *string) []any { return []any{key} }, selectImported, batch, string(list))
	present := make(map[string]bool, len(intakes))
	for _, key := range found {
		present[key] = true
	}
	return present, err
}
