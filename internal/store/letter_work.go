package store

import (
	"bytes"
	"slices"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
)

// LetterWork collects the decisions of one transaction about pieces of work, and
// what must be written for them beside their errors, for which it has a [Work].
// Items are decided in order, and each sees what those before it have done. What
// it returns is to be written in the order of its methods, after the errors.
type LetterWork struct {
	*Work
	rows    []*letterRow
	byError map[recoup.ID]*letterRow
	byWork  map[recoup.ID]*letterRow // open, or not dead at all

	items    map[itemKey]*itemRow
	order    []*itemRow
	rounds   []Round
	notes    []Note
	payloads []Payload
	forgot   []recoup.ID
	anew     []Checkpoint
}

// letterRow is a letter in the course of a transaction.
type letterRow struct {
	Letter
	was Letter // as it is stored
}

type itemKey struct {
	replay   recoup.ID
	position int
}

func (i *ReplayItem) key() itemKey { return itemKey{i.ReplayID, i.Position} }

// itemRow is the item of a replay in the course of a transaction.
type itemRow struct {
	ReplayItem
	stored bool
}

// NewLetterWork begins with the letters that the transaction has locked, and
// with a work that holds their errors.
func NewLetterWork(w *Work, locked []Letter) *LetterWork {
	lw := &LetterWork{Work: w, items: map[itemKey]*itemRow{}, byError: map[recoup.ID]*letterRow{}, byWork: map[recoup.ID]*letterRow{}}
	for _, l := range locked {
		lw.add(l)
	}
	return lw
}

func (w *LetterWork) add(l Letter) *letterRow {
	r := &letterRow{Letter: l, was: l}
	w.rows = append(w.rows, r)
	w.index(r)
	return r
}

// index remembers how a letter can be asked for.
func (w *LetterWork) index(r *letterRow) {
	if !r.Dead.ErrorID.IsZero() {
		w.byError[r.Dead.ErrorID] = r
	}
	switch {
	case r.Dead.Open():
		w.byWork[r.Dead.WorkID] = r
	case !r.Dead.ErrorID.IsZero():
		if w.byWork[r.Dead.WorkID] == r {
			delete(w.byWork, r.Dead.WorkID)
		}
	case !r.Queued.WorkID.IsZero():
		w.byWork[r.Queued.WorkID] = r
	}
}

// SetPrevious tells what dead letter a piece of work had before.
func (w *LetterWork) SetPrevious(d DeadLetter) {
	r := w.byWork[d.WorkID]
	if r == nil {
		r = w.begin(d.WorkID)
	}
	if r.Dead.ErrorID.IsZero() {
		r.Previous = d
	}
}

// begin makes room for work that has no dead letter and is not in the queue.
func (w *LetterWork) begin(work recoup.ID) *letterRow {
	r := w.add(Letter{})
	w.byWork[work] = r
	return r
}

// Step decides one input and notes what follows from it.
func (w *LetterWork) Step(in LetterStep) LetterOutcome {
	if in.Receipt == nil {
		return w.step(in)
	}
	out, answer, repeated, err := Once(&w.Receipts, in.Receipt, func() (LetterOutcome, error) {
		out := w.step(in)
		return out, out.Err
	})
	out.Answer, out.Repeated, out.Err = answer, repeated, err
	return out
}

func (w *LetterWork) step(in LetterStep) LetterOutcome {
	r := w.byError[in.ErrorID]
	if in.ErrorID.IsZero() {
		if r = w.byWork[in.WorkID]; r == nil {
			r = w.begin(in.WorkID)
		}
	}
	if r == nil {
		return LetterOutcome{Err: ErrNotFound}
	}
	next, effects, err := in.Decide(r.Letter, w.now)
	if out := w.stepError(r, next, effects.Effects, err); out != nil {
		return LetterOutcome{Letter: r.Letter, Effects: effects, Err: out}
	}
	if d := &next.Dead; !d.ErrorID.IsZero() {
		d.Group = GroupID(d.Pipeline, d.Stage, d.Class, d.Signature)
	}
	if next.Error.State == recoup.Archived && r.Error.State != recoup.Archived {
		next = r.shelve(next.Error)
	}
	w.set(r, next)
	w.noteEffects(r, effects)
	if effects.Event != "" && in.Tell != nil {
		w.note(in.Tell(&next, effects.Event))
	}
	return LetterOutcome{Letter: next, Effects: effects}
}

// stepError hands the decision about the error, if there is one, to the work,
// which keeps the history also of a refusal.
func (w *LetterWork) stepError(r *letterRow, next Letter, effects lifecycle.Effects, err error) error {
	decide := func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
		return next.Error, effects, err
	}
	switch {
	case !r.Error.ID.IsZero():
		return w.Work.Step(Step{ID: r.Error.ID, Decide: decide}).Err
	case err == nil && !next.Error.ID.IsZero():
		return w.Report(Report{Decide: decide}).Err
	}
	return err
}

// shelve returns a letter whose error is archived: the database ends by itself
// all that hangs on it, so that there is nothing more to write.
func (r *letterRow) shelve(e recoup.Error) Letter {
	r.Error = e
	r.Queued, r.Item = QueuedWork{}, ReplayItem{}
	if r.Dead.Open() {
		r.Dead.ClosedAt, r.Dead.UpdatedAt = e.ArchivedAt, e.ArchivedAt
	}
	r.was = r.Letter
	return r.Letter
}

func (w *LetterWork) set(r *letterRow, next Letter) {
	was := r.Item
	r.Letter = next
	if next.Item != was {
		w.setItem(next.Item, next.Item.key() == was.key() && !was.ReplayID.IsZero())
	}
	if !next.Item.State.Open() {
		r.Item = ReplayItem{} // what comes after it in this batch sees it ended
	}
	w.index(r)
	if !r.Dead.ErrorID.IsZero() && !r.Dead.Open() {
		w.SetPrevious(r.Dead) // should the same work fail once more
	}
}

func (w *LetterWork) setItem(item ReplayItem, stored bool) {
	if known := w.items[item.key()]; known != nil {
		known.ReplayItem = item
		return
	}
	row := &itemRow{item, stored}
	w.items[item.key()] = row
	w.order = append(w.order, row)
}

func (w *LetterWork) noteEffects(r *letterRow, effects LetterEffects) {
	if effects.Round.Round > 0 {
		w.rounds = append(w.rounds, effects.Round)
	}
	w.notes = append(w.notes, effects.Notes...)
	if !effects.Payload.WorkID.IsZero() {
		w.payloads = append(w.payloads, effects.Payload)
	}
	if effects.Forget {
		w.forgot = append(w.forgot, r.workID())
	}
	if !effects.Anew.WorkID.IsZero() {
		w.anew = append(w.anew, effects.Anew)
	}
}

// workID is the work that a letter is, or was, about.
func (r *letterRow) workID() recoup.ID {
	for _, id := range []recoup.ID{r.Queued.WorkID, r.Dead.WorkID, r.was.Queued.WorkID} {
		if !id.IsZero() {
			return id
		}
	}
	return recoup.ID{}
}

// Join decides whether a letter becomes a member of a replay, and gives it its
// position.
func (w *LetterWork) Join(replay *Replay, in LetterStep) LetterOutcome {
	decide := in.Decide
	in.Decide = func(current Letter, now time.Time) (Letter, LetterEffects, error) {
		next, effects, err := decide(current, now)
		if err == nil && current.Item.ReplayID != replay.ID && next.Item.ReplayID == replay.ID {
			next.Item.ErrorID, next.Item.WorkID = next.Dead.ErrorID, next.Dead.WorkID
			next.Item.State, next.Item.Position = ItemPending, replay.Members
			replay.Members++
		}
		return next, effects, err
	}
	return w.Step(in)
}

// End applies the same input to items of a replay, as far as they wait for their
// outcome and nobody holds them, and returns how many have ended.
func (w *LetterWork) End(replay recoup.ID, ids []recoup.ID, decide DecideLetter) (ended int) {
	for _, id := range ids {
		r := w.byError[id]
		if r == nil || r.Item.ReplayID != replay || r.Queued.Leased(w.now) {
			continue
		}
		if out := w.Step(LetterStep{ErrorID: id, Decide: decide}); out.Err == nil && !out.Letter.Item.State.Open() {
			ended++
		}
	}
	return ended
}

// Groups returns the groups in which something has arrived, each once and in the
// order of their ids, so that no two transactions wait for each other crosswise.
func (w *LetterWork) Groups() []Group {
	seen := map[recoup.ID]Group{}
	for _, r := range w.rows {
		d := &r.Dead
		if d.ErrorID.IsZero() || d.Round == r.was.Dead.Round && d.Group == r.was.Dead.Group {
			continue
		}
		g, known := seen[d.Group]
		if !known {
			g = Group{ID: d.Group, Pipeline: d.Pipeline, Stage: d.Stage, Class: d.Class, Signature: d.Signature, FirstSeenAt: d.UpdatedAt}
		}
		g.FirstSeenAt = earlier(g.FirstSeenAt, d.UpdatedAt)
		g.LastSeenAt = later(g.LastSeenAt, d.UpdatedAt)
		seen[d.Group] = g
	}
	list := make([]Group, 0, len(seen))
	for _, g := range seen {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b Group) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return list
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// NewLetters returns the dead letters to be added.
func (w *LetterWork) NewLetters() []DeadLetter {
	return pickLetters(w, func(r *letterRow) (DeadLetter, bool) {
		return r.Dead, r.was.Dead.ErrorID.IsZero() && !r.Dead.ErrorID.IsZero()
	})
}

// Items returns the items of replays to be added and those that have changed.
func (w *LetterWork) Items() (added, changed []ReplayItem) {
	for _, row := range w.order {
		if row.stored {
			changed = append(changed, row.ReplayItem)
		} else {
			added = append(added, row.ReplayItem)
		}
	}
	return added, changed
}

// Letters returns the new versions of stored dead letters: those that only went a
// step on in their workflow, and the others.
func (w *LetterWork) Letters() (moved, changed []DeadLetter) {
	for _, r := range w.rows {
		switch is, was := &r.Dead, &r.was.Dead; {
		case was.ErrorID.IsZero() || *is == *was:
		case is.onlyMoved(*was):
			moved = append(moved, *is)
		default:
			changed = append(changed, *is)
		}
	}
	return moved, changed
}

// onlyMoved reports whether a dead letter differs in nothing but what a step of its
// workflow changes.
func (d *DeadLetter) onlyMoved(was DeadLetter) bool {
	was.Step, was.Cause, was.HeldExpiry, was.UpdatedAt = d.Step, d.Cause, d.HeldExpiry, d.UpdatedAt
	return *d == was
}

// Rounds returns the rounds to append, in order.
func (w *LetterWork) Rounds() []Round { return w.rounds }

// QueueChange is work whose place in the queue changes.
type QueueChange struct{ Was, Is QueuedWork }

// Queue returns what leaves the queue, what changes in it and what comes.
func (w *LetterWork) Queue() (gone []QueuedWork, changed []QueueChange, added []QueuedWork) {
	for _, r := range w.rows {
		switch was, is := r.was.Queued, r.Queued; {
		case was == is:
		case is.WorkID.IsZero():
			gone = append(gone, was)
		case was.WorkID.IsZero():
			added = append(added, is)
		default:
			changed = append(changed, QueueChange{was, is})
		}
	}
	return gone, changed, added
}

// Offers reports whether work was put into the queue that can be claimed at once.
func (w *LetterWork) Offers(now time.Time) bool {
	return slices.ContainsFunc(w.rows, func(r *letterRow) bool {
		q := &r.Queued
		return *q != r.was.Queued && !q.WorkID.IsZero() && q.LeaseToken.IsZero() && !q.DueAt.IsZero() && !q.DueAt.After(now)
	})
}

// Payloads returns the payloads to be kept.
func (w *LetterWork) Payloads() []Payload { return w.payloads }

// Forgotten returns the work whose payload and checkpoints go.
func (w *LetterWork) Forgotten() []recoup.ID { return w.forgot }

// Anew returns the checkpoints that take the place of all others of their work.
func (w *LetterWork) Anew() []Checkpoint { return w.anew }

// Notes returns the notes to append, in order.
func (w *LetterWork) Notes() []Note { return w.notes }

func pickLetters[T any](w *LetterWork, pick func(*letterRow) (T, bool)) []T {
	var list []T
	for _, r := range w.rows {
		if v, ok := pick(r); ok {
			list = append(list, v)
		}
	}
	return list
}
