package sqlops

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// save writes everything that a unit of work has decided, one statement per kind of
// row, each after what it refers to.
func save(tx Tx, w *store.UnitOfWork) error {
	return sqldb.InOrder(
		func() error { return tx.SaveErrors(w) },
		func() error { return saveLetters(tx, w) },
	)
}

func saveLetters(tx Tx, w *store.UnitOfWork) error {
	if w.Offers() {
		tx.Wake(store.WakeWork)
	}
	arrived, moved, others := w.DeadLetters()
	joined, stepped := w.Items()
	begun := make([]recoup.ID, len(w.Anew))
	for i := range w.Anew {
		begun[i] = w.Anew[i].WorkID
	}
	return sqldb.InOrder(
		func() error { return saveGroups(tx, w.Groups()) },
		func() error { return deadLetters.Add(tx, arrived...) },
		func() error { return items.Add(tx, joined...) },
		func() error { return items.Update(tx, stepped...) },
		func() error { return letterMoves.Update(tx, moved...) },
		func() error { return deadLetters.Update(tx, others...) },
		func() error { return rounds.Add(tx, w.Rounds...) },
		func() error { return tx.SaveQueue(w.Queue()) },
		func() error { return payloads.InsertIgnore(tx, w.Payloads...) },
		func() error { return payloads.Delete(tx, w.Forgotten) },
		func() error { return checkpoints.Delete(tx, w.Forgotten) },
		func() error { return checkpoints.Delete(tx, begun) },
		func() error { return checkpoints.Upsert(tx, w.Anew...) },
		func() error { return notes.Add(tx, w.Notes...) },
	)
}

// saveGroups notes in which groups something has arrived; those that are new are
// added.
func saveGroups(tx Tx, list []recoup.DeadLetterGroup) error {
	if err := groups.InsertIgnore(tx, list...); err != nil {
		return err
	}
	for _, g := range list {
		err := tx.Do("update recoup.dead_letter_group set last_seen_at = $2 where group_id = $1 and last_seen_at < $2", g.ID, g.LastSeenAt)
		if err != nil {
			return err
		}
	}
	return nil
}
