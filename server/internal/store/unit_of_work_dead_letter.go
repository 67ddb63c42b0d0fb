package store

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// letters are the pieces of work in the course of a transaction.
type letters struct {
	list    []*letterRow
	byError map[recoup.ID]*letterRow
	byWork  map[recoup.ID]*letterRow // open, or not dead at all

	items map[itemKey]*itemRow
	order []*itemRow
}

type letterRow = Tracked[StagedWork]

type itemKey struct {
	replay   recoup.ID
	position int
}

func keyOf(i *recoup.ReplayItem) itemKey { return itemKey{i.ReplayID, i.Position} }

// itemRow is the item of a replay in the course of a transaction.
type itemRow struct {
	recoup.ReplayItem
	stored bool
}

// AddLetters adds dead letters that the transaction has locked, whose errors the work
// holds already.
func (w *UnitOfWork) AddLetters(locked []StagedWork) {
	w.letters.items = map[itemKey]*itemRow{}
	w.letters.byError, w.letters.byWork = map[recoup.ID]*letterRow{}, map[recoup.ID]*letterRow{}
	for _, l := range locked {
		w.letters.add(l)
	}
}

func (ls *letters) add(l StagedWork) *letterRow {
	r := &letterRow{Is: l, Was: l}
	ls.list = append(ls.list, r)
	ls.index(r)
	return r
}

// index remembers a piece of work by its error and by its id.
func (ls *letters) index(r *letterRow) {
	d, q := &r.Is.Dead, &r.Is.Queued
	if !d.ErrorID.IsZero() {
		ls.byError[d.ErrorID] = r
	}
	switch {
	case d.Open():
		ls.byWork[d.WorkID] = r
	case !d.ErrorID.IsZero():
		if ls.byWork[d.WorkID] == r {
			delete(ls.byWork, d.WorkID)
		}
	case !q.WorkID.IsZero():
		ls.byWork[q.WorkID] = r
	}
}

// SetPrevious sets the dead letter that a piece of work had before. The last call
// counts.
func (w *UnitOfWork) SetPrevious(d recoup.DeadLetter) {
	if r := w.letters.of(d.WorkID); r.Is.Dead.ErrorID.IsZero() {
		r.Is.Previous = d
	}
}

// of returns the row of a piece of work, which may have no dead letter and not be
// in the queue.
func (ls *letters) of(work recoup.ID) *letterRow {
	r := ls.byWork[work]
	if r == nil {
		r = ls.add(StagedWork{})
		ls.byWork[work] = r
	}
	return r
}

// StepLetter decides one input to a piece of work and notes what follows from it.
func (w *UnitOfWork) StepLetter(in StagedStep) StagedOutcome {
	return w.letterOnce(in.Receipt, func() StagedOutcome {
		if in.Submission == nil || w.unfinished(in.WorkID) {
			return w.stepLetter(in)
		}
		return w.letterOnce(in.Submission, func() StagedOutcome { return w.stepLetter(in) })
	})
}

// letterOnce does something unless its receipt shows that it was done.
func (w *UnitOfWork) letterOnce(r *StagedReceipt, do func() StagedOutcome) StagedOutcome {
	if r == nil {
		return do()
	}
	out, answer, repeated, err := Once(&w.Receipts, r, func() (StagedOutcome, error) {
		out := do()
		return out, out.Err
	})
	out.Answer, out.Repeated, out.Err = answer, repeated || out.Repeated, err
	return out
}

// unfinished reports whether work is in the queue, is a dead letter, or was given up as one.
func (w *UnitOfWork) unfinished(work recoup.ID) bool {
	is := &w.letters.of(work).Is
	givenUp := !is.Previous.ErrorID.IsZero() && is.Previous.Step != recoup.StepVerified
	return !is.Queued.WorkID.IsZero() || is.Dead.Open() || givenUp
}

func (w *UnitOfWork) stepLetter(in StagedStep) StagedOutcome {
	r := w.letters.byError[in.ErrorID]
	if in.ErrorID.IsZero() {
		r = w.letters.of(in.WorkID)
	}
	if r == nil {
		return StagedOutcome{Err: sqldb.ErrNotFound}
	}
	if err := w.refusal(in.Instead); err != nil {
		return StagedOutcome{Err: err}
	}
	next, effects, err := in.Decide(r.Is, w.now)
	if out := w.stepError(&r.Is, next, effects.Effects, in.Attach, err); out != nil {
		return StagedOutcome{Letter: r.Is, Effects: effects, Err: out}
	}
	if d := &next.Dead; !d.ErrorID.IsZero() {
		d.GroupID = recoup.GroupID(d.Pipeline, d.Stage, d.Class, d.Signature)
	}
	if next.Error.State == recoup.Archived && r.Is.Error.State != recoup.Archived {
		next = r.Is.archived(next.Error)
		r.Is, r.Was = next, next
	}
	w.setLetter(r, next)
	w.noteEffects(r, effects)
	if in.Instead != nil {
		w.Step(*in.Instead)
	}
	if effects.Event != "" && in.EventOf != nil {
		w.note(in.EventOf(&next, effects.Event))
	}
	return StagedOutcome{Letter: next, Effects: effects}
}

// stepError hands the decision about the error, if there is one, to the part of the
// work that is about errors, which keeps the history also of a refusal.
func (w *UnitOfWork) stepError(current *StagedWork, next StagedWork, effects lifecycle.Effects, attach *Attachment, err error) error {
	decide := func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
		return next.Error, effects, err
	}
	switch {
	case !current.Error.ID.IsZero():
		return w.Step(Step{ID: current.Error.ID, Decide: decide}).Err
	case err == nil && !next.Error.ID.IsZero():
		return w.Report(Report{Decide: decide, Attach: attach}).Err
	}
	return err
}

// refusal is why the error whose place a dead letter takes does not end so; nil: it does,
// or there is none.
func (w *UnitOfWork) refusal(in *Step) error {
	if in == nil {
		return nil
	}
	r := w.rows[in.ID]
	if r == nil {
		return sqldb.ErrNotFound
	}
	current := r.Error
	_, _, err := in.Decide(&current, 0, w.now)
	return err
}

// archived returns a dead letter whose error is archived: the database itself ends
// all that belongs to it, so that there is nothing more to write.
func (l StagedWork) archived(e recoup.Error) StagedWork {
	l.Error = e
	l.Queued, l.Item = recoup.WorkItem{}, recoup.ReplayItem{}
	if l.Dead.Open() {
		l.Dead.ClosedAt, l.Dead.UpdatedAt = e.ArchivedAt, e.ArchivedAt
	}
	return l
}

func (w *UnitOfWork) setLetter(r *letterRow, next StagedWork) {
	was := r.Is.Item
	r.Is = next
	if next.Item != was {
		w.letters.setItem(next.Item, keyOf(&next.Item) == keyOf(&was) && !was.ReplayID.IsZero())
	}
	if !next.Item.State.Open() {
		r.Is.Item = recoup.ReplayItem{} // what comes after it in this batch sees it ended
	}
	w.letters.index(r)
	if !r.Is.Dead.ErrorID.IsZero() && !r.Is.Dead.Open() {
		w.SetPrevious(r.Is.Dead) // should the same work fail once more
	}
}

func (ls *letters) setItem(item recoup.ReplayItem, stored bool) {
	if known := ls.items[keyOf(&item)]; known != nil {
		known.ReplayItem = item
		return
	}
	row := &itemRow{item, stored}
	ls.items[keyOf(&item)] = row
	ls.order = append(ls.order, row)
}

func (w *UnitOfWork) noteEffects(r *letterRow, effects StagedEffects) {
	if effects.Round.Round > 0 {
		w.Rounds = append(w.Rounds, effects.Round)
	}
	w.Notes = append(w.Notes, effects.Notes...)
	if !effects.Payload.WorkID.IsZero() {
		w.Payloads = append(w.Payloads, effects.Payload)
	}
	if effects.Forget { // the work that it is, or was, about
		w.Forgotten = append(w.Forgotten, cmp.Or(r.Is.Queued.WorkID, r.Is.Dead.WorkID, r.Was.Queued.WorkID))
	}
	if !effects.Anew.WorkID.IsZero() {
		w.Anew = append(w.Anew, effects.Anew)
	}
}

// Join decides whether a dead letter becomes a member of a replay, and gives it its
// position.
func (w *UnitOfWork) Join(replay *recoup.Replay, in StagedStep) StagedOutcome {
	decide := in.Decide
	in.Decide = func(current StagedWork, now time.Time) (StagedWork, StagedEffects, error) {
		next, effects, err := decide(current, now)
		if err == nil && current.Item.ReplayID != replay.ID && next.Item.ReplayID == replay.ID {
			next.Item.ErrorID, next.Item.WorkID = next.Dead.ErrorID, next.Dead.WorkID
			next.Item.State, next.Item.Position = recoup.ItemPending, replay.Members
			replay.Members++
		}
		return next, effects, err
	}
	return w.StepLetter(in)
}

// End applies the same input to items of a replay, as far as they wait for their
// outcome and nobody holds them, and returns how many have ended.
func (w *UnitOfWork) End(replay recoup.ID, ids []recoup.ID, decide DecideStaged) (ended int) {
	for _, id := range ids {
		r := w.letters.byError[id]
		if r == nil || r.Is.Item.ReplayID != replay || r.Is.Queued.Leased(w.now) {
			continue
		}
		if out := w.StepLetter(StagedStep{ErrorID: id, Decide: decide}); out.Err == nil && !out.Letter.Item.State.Open() {
			ended++
		}
	}
	return ended
}

// Groups returns the groups in which something has arrived, each once and in the
// order of their ids, so that no two transactions wait for each other crosswise.
func (w *UnitOfWork) Groups() []recoup.DeadLetterGroup {
	seen := map[recoup.ID]recoup.DeadLetterGroup{}
	for _, r := range w.letters.list {
		d := &r.Is.Dead
		if d.ErrorID.IsZero() || d.Round == r.Was.Dead.Round && d.GroupID == r.Was.Dead.GroupID {
			continue
		}
		g, known := seen[d.GroupID]
		if !known {
			g = recoup.DeadLetterGroup{ID: d.GroupID, Pipeline: d.Pipeline, Stage: d.Stage, Class: d.Class, Signature: d.Signature, FirstSeenAt: d.UpdatedAt}
		}
		if d.UpdatedAt.Before(g.FirstSeenAt) {
			g.FirstSeenAt = d.UpdatedAt
		}
		if d.UpdatedAt.After(g.LastSeenAt) {
			g.LastSeenAt = d.UpdatedAt
		}
		seen[d.GroupID] = g
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b recoup.DeadLetterGroup) int { return bytes.Compare(a.ID[:], b.ID[:]) })
}

// DeadLetters returns the dead letters to be added and the new versions of stored
// ones: those that only changed their state in the workflow, and the others.
func (w *UnitOfWork) DeadLetters() (added, moved, others []recoup.DeadLetter) {
	added, changed, _ := Parts(w.letters.list, func(l *StagedWork) recoup.DeadLetter { return l.Dead })
	for _, c := range changed {
		stepped := c.Was
		stepped.Step, stepped.Cause, stepped.HeldExpiry, stepped.UpdatedAt = c.Is.Step, c.Is.Cause, c.Is.HeldExpiry, c.Is.UpdatedAt
		if stepped == c.Is {
			moved = append(moved, c.Is)
		} else {
			others = append(others, c.Is)
		}
	}
	return added, moved, others
}

// Items returns the items of replays to be added and those that have changed.
func (w *UnitOfWork) Items() (added, changed []recoup.ReplayItem) {
	for _, row := range w.letters.order {
		if row.stored {
			changed = append(changed, row.ReplayItem)
		} else {
			added = append(added, row.ReplayItem)
		}
	}
	return added, changed
}

// Queue returns what comes into the queue, what changes in it and what leaves it.
func (w *UnitOfWork) Queue() (added []recoup.WorkItem, changed []Change[recoup.WorkItem], gone []recoup.WorkItem) {
	return Parts(w.letters.list, func(l *StagedWork) recoup.WorkItem { return l.Queued })
}

// Offers reports whether work was put into the queue that can be claimed at once.
func (w *UnitOfWork) Offers() bool {
	return slices.ContainsFunc(w.letters.list, func(r *letterRow) bool {
		q := &r.Is.Queued
		return *q != r.Was.Queued && !q.WorkID.IsZero() && q.LeaseToken.IsZero() && !q.DueAt.IsZero() && !q.DueAt.After(w.now)
	})
}
