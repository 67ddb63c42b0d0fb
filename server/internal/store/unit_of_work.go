package store

import (
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// UnitOfWork is the unit of work: it collects the decisions of one transaction, about
// errors and staged work, and what must be written for them.
// Items are decided in order, and each sees what those before it have done, so that
// a batch means the same as its items one by one. It is made of what the transaction
// has locked: see [NewUnitOfWork] and [UnitOfWork.AddLetters].
type UnitOfWork struct {
	now     time.Time
	rows    map[recoup.ID]*errorRow
	order   []*errorRow
	open    map[recoup.Identity]*errorRow
	known   map[recoup.ID]bool // ids of reports that errors have already
	streaks map[StreakKey]*streak
	current recoup.Error // the one that is decided on, apart from its row
	letters letters

	// History holds the rows to append, in order, and Late those that come after the
	// end of their error, which its row in the archive records: see [End].
	History, Late []recoup.Transition

	// Events holds what the ledger keeps of it, in order.
	Events []Event

	// notices holds the notifications to send, in order: see [UnitOfWork.Notices].
	notices NoticeSet

	// Tallies counts what happened.
	Tallies Tallies

	attached []Attached // what slices write with errors, in order: see [UnitOfWork.WriteAttached]

	// Receipts holds what is known of the items' receipts, and those to add.
	Receipts Receipts

	// What staged work adds, each in order: failures, notes, payloads, the work whose
	// payload and checkpoints go, and checkpoints that take the place of all others.
	Rounds    []recoup.Round
	Notes     []recoup.Note
	Payloads  []Payload
	Forgotten []recoup.ID
	Anew      []Checkpoint

	// Memory takes what was decided on steps that can stand for others; nil: nothing is
	// remembered.
	Memory *DecisionCache
}

// Key returns the identity of the open error that the report replaces.
func (r Report) Key() recoup.Identity {
	return recoup.Identity{Table: r.Table, Entity: r.Entity, Code: r.Code}
}

// StreakKey names an entity's count of failures in a family of codes.
type StreakKey struct{ Family, Entity string }

// errorRow is an error in the course of a transaction.
type errorRow struct {
	recoup.Error
	was     *recoup.Error // as the database has it; nil: it has not
	changed bool
	end     *End // of what is archived by this work
}

type streak struct {
	count   int
	changed bool
}

// NewUnitOfWork begins with the rows that the transaction has locked, which must stay
// as they are, and the time at which it had them: that of all that is decided.
func NewUnitOfWork(now time.Time, locked []recoup.Error) *UnitOfWork {
	w := &UnitOfWork{
		now:  now,
		rows: make(map[recoup.ID]*errorRow, len(locked)), order: make([]*errorRow, 0, len(locked)),
		open: map[recoup.Identity]*errorRow{}, streaks: map[StreakKey]*streak{},
	}
	rows := make([]errorRow, len(locked)) // at once: an error is a kilobyte
	for i := range locked {
		if w.rows[locked[i].ID] != nil {
			continue // it was found twice
		}
		rows[i] = errorRow{Error: locked[i], was: &locked[i]}
		w.add(&rows[i])
		w.index(&rows[i])
	}
	return w
}

func (w *UnitOfWork) add(r *errorRow) {
	w.rows[r.ID] = r
	w.order = append(w.order, r)
}

// index remembers which row a report of its key replaces.
func (w *UnitOfWork) index(r *errorRow) {
	switch k := r.Identity(); {
	case r.Replaceable:
		w.open[k] = r
	case w.open[k] == r:
		delete(w.open, k)
	}
}

// SetStreak gives the count that the database holds.
func (w *UnitOfWork) SetStreak(k StreakKey, count int) { w.streaks[k] = &streak{count: count} }

// Know says which of the ids that reports bring along errors have already, open or
// archived.
func (w *UnitOfWork) Know(ids []recoup.ID) {
	for _, id := range ids {
		if w.known == nil {
			w.known = make(map[recoup.ID]bool, len(ids))
		}
		w.known[id] = true
	}
}

// Report decides one report and notes what follows from it. If it admits a
// row that plain SQL has written, that row is what the report becomes; if the
// row is gone or admitted already, the answer is ErrNotFound.
func (w *UnitOfWork) Report(in Report) Outcome {
	return w.once(in.Receipt, func() Outcome { return w.report(in) })
}

// once does what has not been done under the same receipt.
func (w *UnitOfWork) once(r *Receipt, do func() Outcome) Outcome {
	if r == nil {
		return do()
	}
	out, answer, repeated, err := Once(&w.Receipts, r, func() (Outcome, error) {
		out := do()
		return out, out.Err
	})
	out.Answer, out.Repeated, out.Err = answer, repeated, err
	return out
}

func (w *UnitOfWork) report(in Report) Outcome {
	if !in.ID.IsZero() && (w.known[in.ID] || w.rows[in.ID] != nil) {
		return Outcome{Error: recoup.Error{ID: in.ID}, Repeated: true}
	}
	if r := w.rows[in.Admits]; !in.Admits.IsZero() && (r == nil || r.PolicyVersion != "") {
		return Outcome{Err: sqldb.ErrNotFound}
	}
	var current *recoup.Error
	if r := w.replaced(&in); r != nil {
		current = &r.Error
	}
	out := w.decide(in.Decide, in.EventOf, current, StreakKey{in.Family, in.Entity})
	if out.Err != nil {
		return out
	}
	if old := out.Effects.Superseded; old != nil {
		w.tally(&out.Effects, current, &old.Error, lifecycle.Archiving)
		w.archive(old.Error, old.History, false)
	}
	if w.rows[out.Error.ID] == nil {
		w.add(&errorRow{Error: out.Error})
	}
	w.set(out.Error)
	w.attach(in.Attach, &out.Error)
	if end := out.Effects.Ended; end != nil {
		w.archive(end.Error, end.History, false)
		out.Error = end.Error
		out.Error.Marks = recoup.Marks{} // the archive has none
	}
	return out
}

// replaced returns the open error that a report is decided on; nil: there is none.
func (w *UnitOfWork) replaced(in *Report) *errorRow {
	if in.Replaces.IsZero() {
		return w.open[in.Key()]
	}
	if r := w.rows[in.Replaces]; r != nil && r.State.Open() {
		return r
	}
	return nil
}

// tally counts a transition among what happens now. Of the past only the errors count, not what
// happens to them, and not those that are over.
func (w *UnitOfWork) tally(of *lifecycle.Effects, before, next *recoup.Error, input lifecycle.Kind) {
	if before != nil && before.ID != next.ID && of.Superseded == nil {
		before = nil // the report is kept apart from it
	}
	switch {
	case !of.Past:
		w.Tallies.note(before, next, input)
	case of.Ended == nil:
		w.Tallies.moveMarks(before, next, 1)
	}
}

// Step decides one input to a stored error and notes what follows from it. A
// decision that changes nothing, as for a result that is sent again, writes
// nothing.
func (w *UnitOfWork) Step(in Step) Outcome {
	return w.once(in.Receipt, func() Outcome { return w.step(in) })
}

func (w *UnitOfWork) step(in Step) Outcome {
	r := w.rows[in.ID]
	if r == nil {
		return Outcome{Err: sqldb.ErrNotFound}
	}
	decide := in.Decide
	if in.Result != nil {
		if d := w.Memory.ending(in.Result.Like, &r.Error, w.now); d != nil {
			decide = func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
				next, effects := d.End(current, now)
				return next, effects, nil
			}
		}
	}
	out := w.decide(decide, in.EventOf, &r.Error, in.Streak(&r.Error))
	if out.Err == nil && out.Error != r.Error {
		if in.Result != nil {
			w.Memory.Keep(in.Result.Like, &r.Error, &out)
		}
		if ends(&r.Error, &out.Error) {
			w.archive(out.Error, out.Effects.History, out.Effects.CloseLetter)
		} else {
			w.set(out.Error)
		}
	}
	return out
}

// decide asks, and notes history, events, notices and streaks. The late result of
// a worker is refused and leaves its history row all the same.
func (w *UnitOfWork) decide(decide Decide, eventOf EventOf, current *recoup.Error, k StreakKey) Outcome {
	var before *recoup.Error
	if current != nil {
		w.current = *current
		before = &w.current
	}
	next, effects, err := decide(before, w.streak(k), w.now)
	var refusal *lifecycle.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return Outcome{Err: err}
	}
	w.addHistory(current, &next, effects.History, err)
	if err != nil {
		return Outcome{Error: next, Effects: effects, Err: err}
	}
	for _, n := range effects.Notices.All() {
		w.notices.Add(n, next.ID, next.Table)
	}
	w.count(effects.Streak, next.EntityID)
	w.tally(&effects, current, &next, lifecycle.Kind(effects.History.Input))
	out := Outcome{Error: next, Effects: effects}
	if effects.Event != "" && eventOf != nil {
		w.note(eventOf(before, &out))
	}
	return out
}

// addHistory adds a row of the history, if there is one and no archive's row carries it.
func (w *UnitOfWork) addHistory(current, next *recoup.Error, h recoup.Transition, err error) {
	switch {
	case h.Input == "" || err == nil && ends(current, next):
	case current != nil && w.rows[current.ID].end != nil:
		w.Late = append(w.Late, h)
	default:
		w.History = append(w.History, h)
	}
}

// note adds an event, if there is one.
func (w *UnitOfWork) note(e *Event) {
	if e != nil {
		w.Events = append(w.Events, *e)
	}
}

// Notices returns the notifications to send, in order; several to one recipient may be
// one digest.
func (w *UnitOfWork) Notices() []wire.Notice { return w.notices.List() }

func (w *UnitOfWork) streak(k StreakKey) int {
	if s := w.streaks[k]; s != nil {
		return s.count
	}
	return 0
}

func (w *UnitOfWork) count(change lifecycle.Streak, entity string) {
	if change.Family == "" {
		return
	}
	k := StreakKey{change.Family, entity}
	s := w.streaks[k]
	if s == nil {
		s = &streak{}
		w.streaks[k] = s
	}
	s.changed = true
	if change.Op == lifecycle.StreakReset {
		s.count = 0
		return
	}
	s.count++
}

func (w *UnitOfWork) set(e recoup.Error) {
	r := w.rows[e.ID]
	r.Error, r.changed = e, true
	w.index(r)
}

// Inserts returns the new errors that stay in their table.
func (w *UnitOfWork) Inserts() []*recoup.Error {
	return w.pick(func(r *errorRow) bool { return r.was == nil && r.State != recoup.Archived })
}

// Updates returns the new versions of stored errors that stay in their table.
func (w *UnitOfWork) Updates() []*recoup.Error {
	return w.pick(func(r *errorRow) bool { return r.was != nil && r.changed && r.State != recoup.Archived })
}

// Was returns an error as it was when it was locked, or nil if it was not.
func (w *UnitOfWork) Was(id recoup.ID) *recoup.Error {
	if r := w.rows[id]; r != nil {
		return r.was
	}
	return nil
}

// Awaken reports whether something was made due at once, as an unpark does, so
// that whoever waits for work need not wait for the clock.
func (w *UnitOfWork) Awaken(now time.Time) bool {
	return slices.ContainsFunc(w.order, func(r *errorRow) bool {
		return r.changed && r.State == recoup.RetryPending && r.LeaseToken.IsZero() && !r.NextRetryAt.After(now)
	})
}

func (w *UnitOfWork) pick(keep func(*errorRow) bool) []*recoup.Error {
	var list []*recoup.Error
	for _, r := range w.order {
		if keep(r) {
			list = append(list, &r.Error)
		}
	}
	return list
}
