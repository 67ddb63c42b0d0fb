package store

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// EngineeringReview is why a dead letter is escalated that failed after a replay
// as it had before, where no retry helps.
const EngineeringReview = "the same failure after a replay: engineering review"

// Payload is what a piece of work is about, encrypted by the caller. It never
// changes, and is destroyed when its dead letter is archived or its work done.
type Payload struct {
	WorkID recoup.ID
	KeyID  string
	Sealed []byte
	At     time.Time
}

// Checkpoint is the output of a finished stage, encrypted by the caller.
type Checkpoint struct {
	WorkID recoup.ID
	Stage  string
	KeyID  string
	Sealed []byte
	At     time.Time
}

// DecideGroup decides about a group's owner and note, which is all that can be
// changed by hand.
type DecideGroup func(current recoup.DeadLetterGroup) (recoup.DeadLetterGroup, []recoup.Note, error)

// DeadLetterFilter selects dead letters, created in [After, Before).
type DeadLetterFilter struct {
	recoup.DeadLetterFilter
	Within *Pipelines
}

// Pipelines bounds what a caller sees to those named or, with Except, to all others.
// Nil bounds nothing.
type Pipelines struct {
	Names  []string `json:"names,omitempty"`
	Except bool     `json:"except,omitempty"`
}

// Has reports whether a pipeline is within the bounds.
func (p *Pipelines) Has(name string) bool {
	return p == nil || slices.Contains(p.Names, name) != p.Except
}

// None reports whether no pipeline is within the bounds.
func (p *Pipelines) None() bool { return p != nil && !p.Except && len(p.Names) == 0 }

// Narrow returns what a list of one pipeline, or of all if none is named, is bounded
// by: a single one where that says it all.
func (p *Pipelines) Narrow(pipeline string) (string, *Pipelines) {
	switch {
	case p == nil || pipeline != "" && p.Has(pipeline):
		return pipeline, nil
	case pipeline == "" && !p.Except && len(p.Names) == 1:
		return p.Names[0], nil
	}
	return pipeline, p
}

// GroupFilter selects groups. What is empty does not restrict.
type GroupFilter struct {
	Pipeline string
	Within   *Pipelines
}

// StagedWork is what a decision about a piece of work may look at, as far as there
// is any of it: its place in the queue, its dead letter with the error, and the
// replay's item that has not ended.
type StagedWork struct {
	Queued recoup.WorkItem   `json:"queued,omitzero"`
	Dead   recoup.DeadLetter `json:"dead_letter,omitzero"`
	Error  recoup.Error      `json:"error,omitzero"`
	Item   recoup.ReplayItem `json:"item,omitzero"`

	// Previous is the last closed dead letter of the work, where the work is
	// asked for and has no open one. It cannot be changed.
	Previous recoup.DeadLetter `json:"previous,omitzero"`
}

// StagedEffects is what a decision causes beside the next version. All of it
// belongs into the same commit.
type StagedEffects struct {
	lifecycle.Effects // of the error
	Round             recoup.Round
	Notes             []recoup.Note
	Payload           Payload // to be kept with the work; its WorkID is zero if there is none
	Forget            bool    // the work is done: its payload and checkpoints go

	// Anew is the only checkpoint that is left of work that begins anew, as a mark
	// that it did; its WorkID is zero if it does not.
	Anew Checkpoint
}

// DecideStaged is what a verb asks about each piece of work that it has locked.
// It is pure; a verb that has to start over asks again. An error it returns
// refuses this item and leaves the others alone.
type DecideStaged func(current StagedWork, now time.Time) (StagedWork, StagedEffects, error)

// StagedStep is an input to a dead letter, named by its error, or to a piece of
// work, which may be new: exactly one of the two ids is set.
type StagedStep struct {
	ErrorID recoup.ID
	WorkID  recoup.ID
	Token   recoup.ID // of the lease under which the work is said to be held: where to look first; may be zero
	Decide  DecideStaged
	EventOf DeadLetterEventOf // nil: the ledger gets no event

	Receipt *StagedReceipt // nil: none

	// Submission is the receipt of new work under the id that its sender gave it, so that work
	// that is finished is not done again; nil: the sender gave none.
	Submission *StagedReceipt

	// Of a new dead letter that takes the place of an error: how that ends, and what is written
	// with the dead letter. If the error refuses nothing is done.
	Instead *Step
	Attach  *Attachment
}

// DeadLetterEventOf returns what the ledger keeps of a decision whose effects name an event,
// as [EventOf] does.
type DeadLetterEventOf func(next *StagedWork, code recoup.Code) *Event

// StagedReceipt is that of an input to a dead letter.
type StagedReceipt = ReceiptFor[StagedOutcome]

// StagedOutcome is what became of one of many. Err is what Decide returned, or
// ErrNotFound, or ErrConflict.
type StagedOutcome struct {
	Letter  StagedWork
	Effects StagedEffects
	Err     error

	// Of an item with a receipt, as in [Outcome].
	Answer   []byte
	Repeated bool
}
