package lifecycle

import (
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Effects is what a step causes beside the error's next version. All of it
// belongs into the same commit.
type Effects struct {
	// History is the row to append; its Input is empty if there is none.
	History recoup.Transition

	// Notices says who is to be notified.
	Notices Notices

	// Event is the code of the ledger event to write, or empty.
	Event recoup.Code

	// Archive says that the error moves to its archive table.
	Archive bool

	// CloseLetter says that it is a dead letter which ends with that: it is closed, and
	// the payload of its work destroyed.
	CloseLetter bool

	// Superseded is the older error that a report has replaced, archived.
	Superseded *Superseded

	// Ended is the error of a report of the past that goes to the archive at once, as it is there.
	Ended *Superseded

	// Past says that it is of an earlier time: it does not count among what happens now.
	Past bool

	// Streak is what happens to the entity's count of failures in a family.
	Streak Streak

	// Warning is something the person who asked should know.
	Warning Warning
}

// Superseded is an error that has ended because of a report, and its history row.
type Superseded struct {
	Error   recoup.Error
	History recoup.Transition
}

// Streak is a change of an entity's count of failures in a family of codes.
type Streak struct {
	Family string // empty: no change
	Op     StreakOp
}

// StreakOp is what happens to a count.
type StreakOp string

// A failure counts, an unpark or a resolution starts anew.
const (
	StreakCount StreakOp = "count"
	StreakReset StreakOp = "reset"
)

// Warning is a consequence that the caller may not expect.
type Warning string

// The warning of an unpark.
const (
	NoWarning         Warning = ""
	RetriesOutliveTTL Warning = "RETRIES_OUTLIVE_TTL" // the error would expire before its last retry
)

// Notice says that somebody is to be notified.
type Notice struct {
	Kind wire.NoticeKind
	To   string
}

// Notices is a short list of notices. No step has more than three.
type Notices struct {
	list [3]Notice
	n    int
}

// All returns the notices in the order in which they arose.
func (n *Notices) All() []Notice { return n.list[:n.n] }

// notify adds a notice, once.
func (s *step) notify(kind wire.NoticeKind, to string) {
	n, notice := &s.effects.Notices, Notice{Kind: kind, To: to}
	if !slices.Contains(n.All(), notice) {
		n.list[n.n] = notice
		n.n++
	}
}
