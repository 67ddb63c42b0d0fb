package sqlite

import (
	"context"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/row"
)

const joinLetter = ` from dead_letter d
	left join replay_item i on i.error_id = d.error_id and i.state in ('PENDING', 'RELEASED')
	left join work w on w.work_id = d.work_id and d.closed_at is null`

var (
	partNames         = row.Table[store.Letter]{Columns: store.LetterParts}.Names("")
	selectParts       = `select ` + partNames + joinLetter + ` where d.error_id = ?`
	selectPartsOfWork = `select ` + partNames + joinLetter + ` where d.work_id = ? and d.closed_at is null`

	selectQueued   = `select ` + queueColumns + ` from work where work_id = ?`
	selectPrevious = `select ` + store.DeadLetters.Names("") + ` from dead_letter where work_id = ? and closed_at is not null
		order by created_at desc limit 1`

	insertQueued = addTo("work", queueColumns)
	updateQueued = setIn("work", first(queueColumns, queueChanges), 1)
)

const (
	// moveLetter leaves alone what no step of the workflow changes, and with it all
	// indexes but that of the steps.
	moveLetter        = `update dead_letter set step = ?2, cause = ?3, held_expiry = ?4, updated_at = ?5 where error_id = ?1`
	seeGroup          = `update dead_letter_group set last_seen_at = max(last_seen_at, ?2) where group_id = ?1`
	deleteQueued      = `delete from work where work_id = ?`
	deletePayload     = `delete from work_payload where work_id = ?`
	deleteCheckpoints = `delete from checkpoint where work_id = ?`
)

// first returns the first n of a list of columns.
func first(columns string, n int) string {
	return strings.Join(strings.Split(columns, ", ")[:n], ", ")
}

// setIn returns the statement that gives one row new values; the first columns
// are its key.
func setIn(table, columns string, keys int) string {
	names := strings.Split(columns, ", ")
	set, key := make([]string, 0, len(names)), make([]string, 0, keys)
	for i, name := range names {
		if assignment := name + " = " + parameter(i+1); i < keys {
			key = append(key, assignment)
		} else {
			set = append(set, assignment)
		}
	}
	return "update " + table + " set " + strings.Join(set, ", ") + " where " + strings.Join(key, " and ")
}

// StepLetters applies inputs to dead letters and pieces of work, in order.
func (s *Store) StepLetters(ctx context.Context, now time.Time, steps []store.LetterStep) ([]store.LetterOutcome, error) {
	var errors, works []recoup.ID
	var receipts []store.ReceiptKey
	for _, step := range steps {
		if step.ErrorID.IsZero() {
			works = append(works, step.WorkID)
		} else {
			errors = append(errors, step.ErrorID)
		}
		if step.Receipt != nil {
			receipts = append(receipts, step.Receipt.ID())
		}
	}
	outcomes := make([]store.LetterOutcome, len(steps))
	err := s.writer.doAt(ctx, now, func(tx *tx) error {
		l, err := tx.loadLetters(errors, works)
		if err != nil {
			return err
		}
		if l.Receipts, err = tx.findReceipts(tx.now, receipts); err != nil {
			return err
		}
		for i := range steps {
			outcomes[i] = l.Step(steps[i])
		}
		return tx.saveLetters(l)
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// loadLetters reads letters by their errors and by their work.
func (t *tx) loadLetters(errors, works []recoup.ID) (*store.LetterWork, error) {
	found, err := t.parts(errors, works)
	if err != nil {
		return nil, err
	}
	var rows []recoup.Error
	for i := range found {
		if found[i].Dead.ErrorID.IsZero() {
			continue
		}
		list, err := t.errors(allColumns, selectAnywhere, id{&found[i].Dead.ErrorID})
		e, err := one(list, err, "error "+found[i].Dead.ErrorID.String())
		if err != nil {
			return nil, err
		}
		found[i].Error = e
		rows = append(rows, e)
	}
	l := store.NewLetterWork(store.NewWork(t.now, rows), found)
	for _, work := range works {
		previous, err := rowsOf(t, store.DeadLetters.Columns, selectPrevious, id{&work})
		if err != nil {
			return nil, err
		}
		for _, d := range previous {
			l.SetPrevious(d)
		}
	}
	return l, nil
}

// parts reads letters but for their errors, each once.
func (t *tx) parts(errors, works []recoup.ID) (found []store.Letter, err error) {
	seen := map[[2]recoup.ID]bool{} // by dead letter and place in the queue
	read := func(keys []recoup.ID, letters func(recoup.ID) ([]store.Letter, error)) {
		for _, key := range keys {
			var list []store.Letter
			if err == nil {
				list, err = letters(key)
			}
			for _, l := range list {
				if is := [2]recoup.ID{l.Dead.ErrorID, l.Queued.WorkID}; !seen[is] {
					seen[is] = true
					found = append(found, l)
				}
			}
		}
	}
	read(errors, func(key recoup.ID) ([]store.Letter, error) {
		return rowsOf(t, store.LetterParts, selectParts, id{&key})
	})
	read(works, t.ofWork)
	return found, err
}

// ofWork reads the open dead letter of work, or else its place in the queue.
func (t *tx) ofWork(work recoup.ID) ([]store.Letter, error) {
	list, err := rowsOf(t, store.LetterParts, selectPartsOfWork, id{&work})
	if err != nil || len(list) > 0 {
		return list, err
	}
	return collectAll(t, func(l *store.Letter) []any { return queueFields(&l.Queued) }, selectQueued, id{&work})
}

// saveLetters writes everything that was decided.
func (t *tx) saveLetters(l *store.LetterWork) error {
	if l.Offers(t.now) {
		t.wake(store.WakeWork)
	}
	joined, items := l.Items()
	moved, other := l.Letters()
	gone, changed, added := l.Queue()
	for _, write := range []func() error{
		func() error { return t.save(l.Work) },
		func() error { return t.saveGroups(l.Groups()) },
		func() error { return add(t, store.DeadLetters, l.NewLetters()) },
		func() error { return add(t, store.ReplayItems, joined) },
		func() error { return set(t, store.ReplayItems, items) },
		func() error { return each(t, moveLetter, moved, movedFields) },
		func() error { return set(t, store.DeadLetters, other) },
		func() error { return add(t, store.Rounds, l.Rounds()) },
		func() error { return each(t, deleteQueued, gone, changesOf(queueFields, 1)) },
		func() error {
			return each(t, updateQueued, changed, func(c *store.QueueChange) []any { return queueFields(&c.Is)[:queueChanges] })
		},
		func() error { return each(t, insertQueued, added, queueFields) },
		func() error { _, err := act{t}.AddNew(store.Payloads.Batch(l.Payloads())); return err },
		func() error { return each(t, deletePayload, l.Forgotten(), idField) },
		func() error { return each(t, deleteCheckpoints, l.Forgotten(), idField) },
		func() error {
			return each(t, deleteCheckpoints, l.Anew(), func(c *store.Checkpoint) []any { return []any{id{&c.WorkID}} })
		},
		func() error { return put(t, store.Checkpoints, l.Anew()) },
		func() error { return add(t, store.Notes, l.Notes()) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// saveGroups notes in which groups something has arrived; those that are new are
// added.
func (t *tx) saveGroups(groups []store.Group) error {
	for _, g := range groups {
		n, err := t.change(seeGroup, id{&g.ID}, micros(g.LastSeenAt))
		if err == nil && n == 0 {
			err = add(t, store.Groups, []store.Group{g})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// movedFields are what a step of the workflow changes, after the key.
func movedFields(d *store.DeadLetter) []any {
	return []any{id{&d.ErrorID}, text[store.WorkflowStep]{&d.Step}, text[store.Cause]{&d.Cause}, stamp{&d.HeldExpiry}, stamp{&d.UpdatedAt}}
}

func idField(key *recoup.ID) []any { return []any{id{key}} }

// changesOf returns the first fields of a record, which are those that can
// change.
func changesOf[T any](fields func(*T) []any, n int) func(*T) []any {
	return func(record *T) []any { return fields(record)[:n] }
}
