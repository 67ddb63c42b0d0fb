package postgres

import (
	"context"
	"slices"
	"time"

	"recoup"
	"recoup/internal/store"
)

// Locks are taken in one order: the replay, batches of leased work, errors, the work
// itself, then its ticket; the lock of an error protects its dead letter. Claims take
// only what is free, and so wait for nobody.

// joinLetter joins what a letter is made of, but for its error. The limit keeps
// the planner from reading the items of all replays for every row.
const joinLetter = `
	left join lateral (select * from recoup.replay_item i
		where i.error_id = d.error_id and i.state in ('PENDING', 'RELEASED') limit 1) i on true
	left join recoup.work w on w.work_id = d.work_id and d.closed_at is null`

// ofWorkOrError are the dead letters of the errors in $1, and the open ones of
// the work in $2.
const ofWorkOrError = `(array(select unnest($1::uuid[])
	union all select error_id from recoup.dead_letter where work_id = any ($2::uuid[]) and closed_at is null))`

var (
	lockLetters = "select " + names(errorColumns(), "e.") + " from recoup.error e where e.error_id = any " + ofWorkOrError +
		" order by e.error_id for update"

	lockQueue = `select from recoup.work where work_id = any (array(select unnest($2::uuid[])
		union all select work_id from recoup.dead_letter where error_id = any ($1::uuid[]))) order by work_id for update`

	selectParts = "select " + names(partColumns, "") + " from recoup.dead_letter d" + joinLetter + " where d.error_id = any " + ofWorkOrError

	// Work without an open dead letter, and what it had before.
	selectQueued = "select " + names(queueColumns, "w.") + ` from recoup.work w where work_id = any ($1::uuid[])
		and (select 1 from recoup.dead_letter d where d.work_id = w.work_id and d.closed_at is null limit 1) is null`
	selectPrevious = "select distinct on (work_id) " + names(letterColumns, "") + ` from recoup.dead_letter
		where work_id = any ($1::uuid[]) and closed_at is not null order by work_id, created_at desc`
)

// StepLetters applies inputs to dead letters and pieces of work, in order. Where
// two first failures of one piece of work meet, the later one starts over and
// finds the earlier.
func (s *Store) StepLetters(ctx context.Context, now time.Time, steps []store.LetterStep) ([]store.LetterOutcome, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	var errors, works, tokens []recoup.ID
	var receipts []store.ReceiptKey
	for _, step := range steps {
		if step.ErrorID.IsZero() {
			works = append(works, step.WorkID)
		} else {
			errors = append(errors, step.ErrorID)
		}
		if !step.Token.IsZero() {
			tokens = append(tokens, step.Token)
		}
		if step.Receipt != nil {
			receipts = append(receipts, step.Receipt.ID())
		}
	}
	outcomes := make([]store.LetterOutcome, len(steps))
	err := s.transact(ctx, "step letters", now, func(t *tx) error {
		l, b, err := s.lockWork(ctx, t, errors, works, tokens)
		if err != nil {
			return err
		}
		var found []store.StoredReceipt
		if findReceipts(t, receipts, &found); len(receipts) > 0 {
			if err := t.send(ctx); err != nil {
				return err
			}
		}
		l.Receipts = store.NewReceipts(t.now, found)
		for i := range steps {
			outcomes[i] = l.Step(steps[i])
		}
		s.writeLetters(t, l, b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// lockLetters locks and reads letters by their errors.
func (s *Store) lockLetters(ctx context.Context, t *tx, errors []recoup.ID) (*store.LetterWork, error) {
	l, _, err := s.lockWork(ctx, t, errors, nil, nil)
	return l, err
}

// lockWork locks and reads letters by their errors and by their work, and the batches
// in which it is held. What turns out to have got a dead letter while its place in
// the queue was waited for is locked once more, with it.
func (s *Store) lockWork(ctx context.Context, t *tx, errors, works, tokens []recoup.ID) (*store.LetterWork, *batches, error) {
	held := newBatches(nil)
	if len(works) > 0 {
		var err error
		if held, err = lockBatches(ctx, t, works, tokens); err != nil {
			return nil, nil, err
		}
	}
	for {
		var locked []recoup.Error
		var found []store.Letter
		var queued []store.QueuedWork
		var previous []store.DeadLetter
		collect(t.queue(lockLetters, raw(errors), raw(works)), decode(s.sql.stored), &locked)
		if err := t.send(ctx); err != nil {
			return nil, nil, err
		}
		t.queue(lockQueue, raw(slices.Concat(errors, errorIDs(locked))), raw(works))
		collect(t.queue(selectParts, raw(errors), raw(works)), decode(partColumns), &found)
		if len(works) > 0 {
			collect(t.queue(selectQueued, raw(works)), decode(queueColumns), &queued)
			collect(t.queue(selectPrevious, raw(works)), decode(letterColumns), &previous)
		}
		if len(locked) < len(errors) { // some are archived, or unknown
			collect(t.queue(s.sql.archived, raw(errors)), decode(s.sql.archive), &locked)
		}
		if err := t.lock(ctx); err != nil {
			return nil, nil, err
		}
		if missing := attach(found, locked); len(missing) > 0 {
			errors = append(slices.Clip(errors), missing...)
			continue
		}
		for i := range queued {
			held.over(&queued[i])
		}
		return newLetters(t.now, locked, found, queued, previous), held, nil
	}
}

// attach gives letters their errors and returns the ids of those that are not
// there.
func attach(found []store.Letter, locked []recoup.Error) (missing []recoup.ID) {
	byID := make(map[recoup.ID]*recoup.Error, len(locked))
	for i := range locked {
		byID[locked[i].ID] = &locked[i]
	}
	for i := range found {
		if e := byID[found[i].Dead.ErrorID]; e != nil {
			found[i].Error = *e
		} else {
			missing = append(missing, found[i].Dead.ErrorID)
		}
	}
	return missing
}

func newLetters(now time.Time, locked []recoup.Error, found []store.Letter, queued []store.QueuedWork, previous []store.DeadLetter) *store.LetterWork {
	for _, q := range queued {
		found = append(found, store.Letter{Queued: q})
	}
	w := store.NewLetterWork(store.NewWork(now, locked), found)
	for _, d := range previous {
		w.SetPrevious(d)
	}
	return w
}

func errorIDs(errors []recoup.Error) []recoup.ID {
	ids := make([]recoup.ID, len(errors))
	for i := range errors {
		ids[i] = errors[i].ID
	}
	return ids
}

// writeLetters queues everything that was decided, one statement per kind of row.
func (s *Store) writeLetters(t *tx, l *store.LetterWork, held *batches) {
	s.write(t, l.Work)
	addRows(t, "recoup.dead_letter_group", groupColumns, l.Groups(), ` on conflict (group_id) do update
		set last_seen_at = greatest(dead_letter_group.last_seen_at, excluded.last_seen_at)`)
	addRows(t, "recoup.dead_letter", letterColumns, l.NewLetters(), "")
	joined, items := l.Items()
	addRows(t, "recoup.replay_item", itemColumns, joined, "")
	setItems(t, items)
	moved, other := l.Letters()
	setRows(t, "recoup.dead_letter", letterColumns, append(moved, other...))
	addRows(t, "recoup.dead_letter_round", roundColumns, l.Rounds(), "")
	writeQueue(t, l, held)
	if l.Offers(t.now) {
		t.wake(store.WakeWork)
	}
	addRows(t, "recoup.work_payload", payloadColumns, l.Payloads(), " on conflict (work_id) do nothing")
	if forgotten := l.Forgotten(); len(forgotten) > 0 {
		forget(t, forgotten)
	}
	if anew := l.Anew(); len(anew) > 0 {
		works := make([]recoup.ID, len(anew))
		for i := range anew {
			works[i] = anew[i].WorkID
		}
		t.queue("delete from recoup.checkpoint where work_id = any ($1::uuid[])", raw(works))
		addRows(t, "recoup.checkpoint", checkpointColumns, anew, "")
	}
	addRows(t, "recoup.dead_letter_note", noteColumns, l.Notes(), "")
}

// setItems queues new versions of items, whose key has two columns.
func setItems(t *tx, items []store.ReplayItem) {
	if len(items) > 0 {
		b := newBatch(itemChanges, pointers(items))
		t.queue(b.update("recoup.replay_item")+" and e.replay_id = "+b.values[1], b.args...)
	}
}
