// Package store holds what the two stores share: the shapes that go in and out
// of their verbs, the errors they return, and the unit of work that turns
// decisions into rows. It contains no SQL and decides nothing: a verb is handed
// a pure function that does.
//
// The stores themselves are store/postgres and store/sqlite; what correct means
// for both is test/conformance.
package store

import (
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// The errors that verbs return, to be distinguished with errors.Is.
var (
	// ErrBlocked is returned for a promotion of an entity that an error blocks.
	ErrBlocked = errors.New("promotion blocked")

	// ErrOutOfTurn is returned for what a node does whose turn another has taken. Nothing was done.
	ErrOutOfTurn = errors.New("another node has the turn")

	// ErrBusy is returned when a lock could not be had in time. Nothing was
	// done, and the whole verb may be tried again.
	ErrBusy = errors.New("busy: try again")

	// ErrSyncDeferred is returned by SyncTables when a lock could not be had in time and
	// the tables of the policy are in the database already: nodes can work, and sync again
	// later.
	ErrSyncDeferred = errors.New("another session holds a lock; the tables are synced later")

	// ErrNotDropped is returned when something that is too old could not be dropped.
	// Everything else was done.
	ErrNotDropped = errors.New("not dropped")

	// ErrRefused is returned when the database itself refused a change that the
	// rules forbid. Nothing was done.
	ErrRefused = errors.New("refused by the database")

	// ErrTermOver is returned to a leader whose term is over ([UnderTerm]): another
	// leads, or may. Nothing was done.
	ErrTermOver = errors.New("this term of leadership is over")

	// ErrConflict is returned for something that was done otherwise before: another
	// request under the same receipt, another policy of the same version, a key
	// that exists already or was rotated already. Nothing was done.
	ErrConflict = errors.New("in conflict with what was done before")

	// ErrSchemaNewer is returned by a binary that is older than the schema.
	ErrSchemaNewer = errors.New("the database has a newer schema than this binary knows")

	// ErrSchemaOlder is returned for a schema that must be migrated first.
	ErrSchemaOlder = errors.New("the database has an older schema than this binary needs")

	// ErrSchemaForeign is returned for a schema that was made by other migrations than
	// those of any release, as unreleased builds have had them.
	ErrSchemaForeign = errors.New("the database was made by an unreleased build of Recoup and cannot be upgraded")
)

// Decide is what a verb asks about each error that it has locked: given the
// present version (nil if there is none) and the entity's count of failures in
// the family, what comes next. now is the act's time: that of the store's clock
// once the error is locked. It is pure; a verb that has to start over asks again.
// An error it returns refuses this item and leaves the others alone.
type Decide func(current *recoup.Error, streak int, now time.Time) (recoup.Error, lifecycle.Effects, error)

// EventOf returns what the ledger keeps of a decision whose effects name an event,
// given the version before it (nil if there was none); nil if it keeps nothing.
// It is pure, as Decide is. The event is added in the transaction of its act, so
// that neither stands without the other.
type EventOf func(before *recoup.Error, out *Outcome) *Event

// Report is a failure to be recorded: the key of the open error that it would
// replace, and the decision.
type Report struct {
	Table   string // as it was reported, also if the policy sends it to the orphans
	Entity  string
	Code    recoup.Code
	Family  string    // of the code, in this table; empty: none
	ID      recoup.ID // of the error, if the report brings it along: an error that has it was reported before
	Admits  recoup.ID // the row, written by plain SQL, that this report admits; zero: none
	Decide  Decide
	EventOf EventOf // nil: the ledger gets no event

	// Replaces is the error of a source row that has changed. The report is decided on it as long
	// as it is open, whatever its code is; zero: on the open error of the same key.
	Replaces recoup.ID

	Receipt *Receipt // nil: none

	Attach *Attachment // written with the error; nil: nothing is
}

// ReportIDs returns the ids that reports bring along.
func ReportIDs(reports []Report) (ids []recoup.ID) {
	for i := range reports {
		if !reports[i].ID.IsZero() {
			ids = append(ids, reports[i].ID)
		}
	}
	return ids
}

// Step is an input to a stored error.
type Step struct {
	ID      recoup.ID
	Family  func(*recoup.Error) string // of the failure that the input reports; nil: none
	Decide  Decide
	EventOf EventOf // nil: the ledger gets no event

	Receipt *Receipt // nil: none

	// Result lets the step be decided together with others; nil: it is decided for
	// itself.
	Result *Result
}

// Result says that a step is the result of a retry, under the token of its lease,
// and that Decide answers alike to all that have Like in common, on errors that
// agree in what the answer depends on. A store may then apply what was decided on
// one of them to the others ([DecisionCache]).
type Result struct {
	Token recoup.ID
	Like  any  // comparable
	Brief bool // of the error, its id and what was decided is answer enough
}

// Streak names the count that the step of a stored error may move; its family is
// empty if there is none.
func (s *Step) Streak(e *recoup.Error) StreakKey {
	if s.Family == nil || e == nil || e.EntityID == "" {
		return StreakKey{}
	}
	return StreakKey{Family: s.Family(e), Entity: e.EntityID}
}

// Outcome is what became of one item of a batch. Err is what Decide returned,
// or ErrNotFound, or ErrConflict.
type Outcome struct {
	Error   recoup.Error
	Effects lifecycle.Effects
	Err     error

	// Of an item with a receipt: what is to be answered. Of one that was done
	// before, it is all that there is.
	Answer   []byte
	Repeated bool
}
