package store

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// End is an error that goes to the archive, as it leaves its table and as it is there.
// The transition that brings it there is not among the history: the archive's row
// carries it.
type End struct {
	Left    recoup.Error // Next, but for what archiving itself changes
	Next    *recoup.Error
	History recoup.Transition
	Close   bool // it is a dead letter that is closed by it
}

// Ending is what archiving adds to an error, and what its row there says of its last
// transition. Many errors agree in it.
type Ending struct {
	By        string               `json:"archived_by"`
	As        recoup.ArchiveReason `json:"archive_reason"`
	Kept      int64                `json:"kept_us"`
	Input     string               `json:"input"`
	Reason    string               `json:"reason,omitempty"`
	DecidedBy string               `json:"decided_by"` // the policy
	Worker    string               `json:"worker,omitempty"`
	ClaimedAt time.Time            `json:"claimed_at,omitzero"`
	Attempt   recoup.ID            `json:"attempt,omitzero"`
}

// EndingOf is what archiving makes of an error by a transition.
func EndingOf(next *recoup.Error, h *recoup.Transition) Ending {
	return Ending{
		By: next.ArchivedBy, As: next.ArchiveReason, Kept: next.PurgeAt.Sub(next.ArchivedAt).Microseconds(), Input: h.Input, Reason: h.Reason,
		DecidedBy: h.PolicyVersion, Worker: h.Worker, ClaimedAt: h.ClaimedAt, Attempt: h.Attempt,
	}
}

// ends reports whether an error goes to the archive.
func ends(current, next *recoup.Error) bool {
	return current != nil && current.State != recoup.Archived && next.State == recoup.Archived
}

// archive ends an error's life in its table. It takes no key there any more, nor gives
// one back: that of an error which was reported by this very work is its successor's.
func (w *UnitOfWork) archive(next recoup.Error, history recoup.Transition, letter bool) {
	r := w.rows[next.ID]
	left := next
	left.Archive = recoup.Archive{}
	left.State, left.Blocking, left.UpdatedAt = r.State, r.Blocking, r.UpdatedAt
	left.Replaceable = r.was != nil && r.was.Replaceable
	r.end = &End{Left: left, History: history, Close: letter}
	w.set(next)
	r.end.Next = &r.Error
}

// Ends returns what goes to the archive. Two kinds are written to their table before, as
// they leave it: changed, to which something else has happened by this very work, and
// added, which no table has held.
func (w *UnitOfWork) Ends() (ends []*End, changed, added []*recoup.Error) {
	for _, r := range w.order {
		switch {
		case r.end == nil:
			continue
		case r.was == nil:
			added = append(added, &r.end.Left)
		case r.end.Left != *r.was:
			changed = append(changed, &r.end.Left)
		}
		ends = append(ends, r.end)
	}
	return ends, changed, added
}

// Ended returns the errors that go to the archive, as they are there.
func (w *UnitOfWork) Ended() []*recoup.Error {
	return w.pick(func(r *errorRow) bool { return r.end != nil })
}

// ArchivedByHand returns the transitions of errors that people have archived. A dead
// letter among them gets a note of it too.
func (w *UnitOfWork) ArchivedByHand() (list []recoup.Transition) {
	for _, r := range w.order {
		if r.end != nil && r.end.History.Actor != recoup.System && r.end.History.Input == string(lifecycle.Archiving) {
			list = append(list, r.end.History)
		}
	}
	return list
}
