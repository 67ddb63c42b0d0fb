package sqlops

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// save writes everything that a unit of work has decided, one statement per kind of
// row, each after what it refers to.
func save(tx Tx, w *store.UnitOfWork) error {
	return inOrder(
		func() error { return tx.SaveErrors(w) },
		func() error { return saveLetters(tx, w) },
		func() error { return saveCases(tx, w) },
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
	return inOrder(
		func() error { return saveGroups(tx, w.Groups()) },
		func() error { return deadLetters.add(tx, arrived...) },
		func() error { return items.add(tx, joined...) },
		func() error { return items.set(tx, stepped...) },
		func() error { return letterMoves.set(tx, moved...) },
		func() error { return deadLetters.set(tx, others...) },
		func() error { return rounds.add(tx, w.Rounds...) },
		func() error { return tx.SaveQueue(w.Queue()) },
		func() error { return payloads.ensure(tx, w.Payloads...) },
		func() error { return payloads.remove(tx, w.Forgotten) },
		func() error { return checkpoints.remove(tx, w.Forgotten) },
		func() error { return checkpoints.remove(tx, begun) },
		func() error { return checkpoints.put(tx, w.Anew...) },
		func() error { return notes.add(tx, w.Notes...) },
	)
}

// saveGroups notes in which groups something has arrived; those that are new are
// added.
func saveGroups(tx Tx, list []recoup.DeadLetterGroup) error {
	if err := groups.ensure(tx, list...); err != nil {
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

func saveCases(tx Tx, w *store.UnitOfWork) error {
	begun, changed := w.Recoveries()
	held, ended := w.RecoveryLeases()
	return inOrder(
		func() error { return intakes.add(tx, w.Reentries...) },
		func() error { return recoveries.set(tx, changed...) },
		func() error { return intakes.set(tx, w.Intakes()...) },
		func() error { return recoveries.add(tx, begun...) },
		func() error { return leases.put(tx, held...) },
		func() error { return leases.remove(tx, ended) },
		func() error { return turns.remove(tx, w.Verified()) },
		func() error { return airs.add(tx, w.AIR...) },
		func() error { return audits.add(tx, w.Audit()...) },
	)
}
