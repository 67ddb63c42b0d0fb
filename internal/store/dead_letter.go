package store

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
)

// WorkflowStep is how far a dead letter has come on its way out (spec 002, 8.5).
type WorkflowStep string

// The steps, in their order. None can be skipped, and VERIFIED is the end.
const (
	StepNew        WorkflowStep = "NEW"
	StepTriaged    WorkflowStep = "TRIAGED"
	StepRemediated WorkflowStep = "REMEDIATED"
	StepValidated  WorkflowStep = "VALIDATED"
	StepReplaying  WorkflowStep = "REPLAYING" // it is a member of a replay that has not dealt with it yet
	StepReplayed   WorkflowStep = "REPLAYED"  // the replay succeeded and waits to be verified
	StepVerified   WorkflowStep = "VERIFIED"
)

// Cause is what triage found to be the matter.
type Cause string

// The causes of spec 002, 8.5.
const (
	CauseTransient Cause = "TRANSIENT"
	CauseData      Cause = "DATA"
	CauseAccess    Cause = "AUTH_CONFIG"
	CauseDefect    Cause = "CODE_DEFECT"
)

// EngineeringReview is why a dead letter is escalated that failed after a replay
// as it had before, where no retry helps.
const EngineeringReview = "the same failure after a replay: engineering review"

// DeadLetter is what an error in a table of dead letters carries of its work.
// Stage, class, signature and exhaustion are those of the present round: each failure of
// the same work after a replay is the next round of the same dead letter.
type DeadLetter struct {
	ErrorID        recoup.ID    `json:"error_id"`
	WorkID         recoup.ID    `json:"work_id"` // of the work, through all its rounds
	Pipeline       string       `json:"pipeline"`
	Stage          string       `json:"stage"` // the one that failed
	Class          recoup.Code  `json:"error_class"`
	Signature      string       `json:"signature"` // the normalised cause, by which dead letters are grouped
	Group          recoup.ID    `json:"group_id"`  // set by the store: see [GroupID]
	Step           WorkflowStep `json:"step"`
	Cause          Cause        `json:"cause,omitempty"`
	Exhausted      bool         `json:"exhausted,omitempty"` // what failed could be retried, and its budget was spent
	Round          int          `json:"round"`
	FirstFailureAt time.Time    `json:"first_failure_at"`
	LastFailureAt  time.Time    `json:"last_failure_at"`
	PayloadRef     string       `json:"payload_ref,omitempty"`
	PayloadHash    string       `json:"payload_hash,omitempty"`
	PreviousID     recoup.ID    `json:"previous_id,omitzero"` // the closed dead letter of the same work before this one
	HeldExpiry     time.Time    `json:"held_expiry,omitzero"` // when the error would expire, were it not part of a replay
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
	ClosedAt       time.Time    `json:"closed_at,omitzero"` // verified, or archived
}

// Open reports whether there is a dead letter and its work is not settled yet.
func (d *DeadLetter) Open() bool { return !d.ErrorID.IsZero() && d.ClosedAt.IsZero() }

// GroupID names the group of dead letters that have all of these in common.
func GroupID(pipeline, stage string, class recoup.Code, signature string) recoup.ID {
	h := sha256.New()
	for _, part := range []string{pipeline, stage, string(class), signature} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return recoup.ID(h.Sum(nil)[:len(recoup.ID{})])
}

// Round is one failure of the work for good. Rounds are only ever added.
type Round struct {
	ErrorID        recoup.ID   `json:"error_id"`
	Round          int         `json:"round"`              // from 1; the one before is what it follows on
	ReplayID       recoup.ID   `json:"replay_id,omitzero"` // the replay that ended so
	Stage          string      `json:"stage"`
	Class          recoup.Code `json:"error_class"`
	Signature      string      `json:"signature"`
	LastStack      string      `json:"last_stack,omitempty"`        // redacted
	Context        JSON        `json:"sanitized_context,omitempty"` // of the allowed keys
	FirstFailureAt time.Time   `json:"first_failure_at"`
	LastFailureAt  time.Time   `json:"last_failure_at"`
	At             time.Time   `json:"at"`
}

// Note is one entry in the history of a dead letter, a replay or a group: it
// names exactly one of them. Notes are only ever added.
type Note struct {
	ErrorID  recoup.ID    `json:"error_id,omitzero"`
	ReplayID recoup.ID    `json:"replay_id,omitzero"`
	GroupID  recoup.ID    `json:"group_id,omitzero"`
	Round    int          `json:"round,omitempty"`
	Step     WorkflowStep `json:"step"` // of a replay or a group: the act
	Actor    string       `json:"actor"`
	At       time.Time    `json:"at"`
	Text     string       `json:"note,omitempty"`
	Link     string       `json:"link,omitempty"`   // the ticket or incident
	Fields   JSON         `json:"fields,omitempty"` // what the step asks for
}

// NoteArchived is the step of a note that tells who archived a dead letter by hand,
// and why.
const NoteArchived WorkflowStep = "ARCHIVED"

// Payload is what a piece of work is about, sealed by the caller. It never
// changes, and is destroyed when its dead letter is archived or its work done.
type Payload struct {
	WorkID recoup.ID
	KeyID  string
	Sealed []byte
	At     time.Time
}

// Checkpoint is the output of a finished stage, sealed by the caller.
type Checkpoint struct {
	WorkID recoup.ID
	Stage  string
	KeyID  string
	Sealed []byte
	At     time.Time
}

// Group is what dead letters of the same pipeline, stage, class and normalised
// cause have in common.
type Group struct {
	ID          recoup.ID   `json:"group_id"`
	Pipeline    string      `json:"pipeline"`
	Stage       string      `json:"stage"`
	Class       recoup.Code `json:"error_class"`
	Signature   string      `json:"signature"`
	Owner       string      `json:"owner,omitempty"`
	Note        string      `json:"note,omitempty"` // the present one; notes keep the others
	FirstSeenAt time.Time   `json:"first_seen_at"`
	LastSeenAt  time.Time   `json:"last_seen_at"`
	Open        int64       `json:"open"`  // dead letters that are not closed
	Total       int64       `json:"total"` // failures, every round counted
}

// DecideGroup decides about a group's owner and note, which is all that can be
// changed by hand.
type DecideGroup func(current Group) (Group, []Note, error)

// DayCount is how many dead letters a group has gained on a UTC day.
type DayCount struct {
	Day time.Time `json:"day"`
	N   int64     `json:"n"`
}

// LetterFilter selects dead letters. Empty fields do not restrict; all that are
// set must hold. Closed ones are listed only by Step.
type LetterFilter struct {
	Pipeline string
	Stage    string
	Class    recoup.Code
	Step     WorkflowStep
	Group    recoup.ID
	After    time.Time
	Before   time.Time // created in [After, Before)
	Within   *Pipelines
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

// Letter is what a decision about a piece of work may look at, as far as there
// is any of it: its place in the queue, its dead letter with the error, and the
// replay's item that has not ended.
type Letter struct {
	Queued QueuedWork   `json:"queued,omitzero"`
	Dead   DeadLetter   `json:"dead_letter,omitzero"`
	Error  recoup.Error `json:"error,omitzero"`
	Item   ReplayItem   `json:"item,omitzero"`

	// Previous is the last closed dead letter of the work, where the work is
	// asked for and has no open one. It cannot be changed.
	Previous DeadLetter `json:"previous,omitzero"`
}

// LetterEffects is what a decision causes beside the next version. All of it
// belongs into the same commit.
type LetterEffects struct {
	lifecycle.Effects // of the error
	Round             Round
	Notes             []Note
	Payload           Payload // to be kept with the work; its WorkID is zero if there is none
	Forget            bool    // the work is done: its payload and checkpoints go

	// Anew is the only checkpoint that is left of work that begins anew, to tell
	// that it did; its WorkID is zero if it does not.
	Anew Checkpoint
}

// DecideLetter is what a verb asks about each piece of work that it has locked.
// It is pure; a verb that has to start over asks again. An error it returns
// refuses this item and leaves the others alone.
type DecideLetter func(current Letter, now time.Time) (Letter, LetterEffects, error)

// LetterStep is an input to a dead letter, named by its error, or to a piece of
// work, which may be new: exactly one of the two ids is set.
type LetterStep struct {
	ErrorID recoup.ID
	WorkID  recoup.ID
	Token   recoup.ID // of the lease under which the work is said to be held: where to look first; may be zero
	Decide  DecideLetter
	Tell    TellLetter // nil: the ledger is not told

	Receipt *LetterReceipt // nil: none
}

// TellLetter returns what the ledger keeps of a step whose effects name an event,
// as [Tell] does.
type TellLetter func(next *Letter, code recoup.Code) *Event

// LetterReceipt is that of a step of a letter.
type LetterReceipt = ReceiptFor[LetterOutcome]

// LetterOutcome is what became of one of many. Err is what Decide returned, or
// ErrNotFound, or ErrConflict.
type LetterOutcome struct {
	Letter  Letter
	Effects LetterEffects
	Err     error

	// Of an item with a receipt, as in [Outcome].
	Answer   []byte
	Repeated bool
}
