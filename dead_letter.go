package recoup

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// WorkflowStep is the state of a dead letter in the workflow that ends in a verified
// replay (spec 002, 8.5).
type WorkflowStep string

// The states of the workflow, in order. None can be skipped, and VERIFIED is final.
const (
	StepNew        WorkflowStep = "NEW"
	StepTriaged    WorkflowStep = "TRIAGED"
	StepRemediated WorkflowStep = "REMEDIATED"
	StepValidated  WorkflowStep = "VALIDATED"
	StepReplaying  WorkflowStep = "REPLAYING" // in a replay that has no result for it yet
	StepReplayed   WorkflowStep = "REPLAYED"  // the replay succeeded and waits to be verified
	StepVerified   WorkflowStep = "VERIFIED"
)

// DeadLetter is work that failed for good and waits to be replayed. It belongs to an
// error in a dead letter table. Stage, Class, Signature and Exhausted are those of the
// present round: each time the work fails again after a replay, the same dead letter
// begins its next round.
type DeadLetter struct {
	ErrorID        ID           `json:"error_id"`
	WorkID         ID           `json:"work_id"`
	Pipeline       string       `json:"pipeline"`
	Stage          string       `json:"stage"`
	Class          Code         `json:"error_class"`
	Signature      string       `json:"signature,omitempty" doc:"the normalised cause, by which dead letters are grouped"`
	GroupID        ID           `json:"group_id"` // set by the store: see [GroupID]
	Step           WorkflowStep `json:"step"`
	Cause          Cause        `json:"cause,omitempty"`
	Exhausted      bool         `json:"exhausted,omitempty" doc:"what failed could be retried, and its budget was spent"`
	Round          int          `json:"round" doc:"how often the work has failed for good"`
	FirstFailureAt time.Time    `json:"first_failure_at"`
	LastFailureAt  time.Time    `json:"last_failure_at"`
	PayloadRef     string       `json:"payload_ref,omitempty"`
	PayloadHash    string       `json:"payload_hash,omitempty"`
	PreviousID     ID           `json:"previous_id,omitzero" doc:"the closed dead letter of the same work before this one"`
	HeldExpiry     time.Time    `json:"-"` // when the error expires, suspended while it is part of a replay
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
	ClosedAt       time.Time    `json:"closed_at,omitzero" doc:"verified, or archived"`

	Standing
}

// Standing is what a dead letter's error and replay add to it. It is set in responses
// and not stored with the dead letter.
type Standing struct {
	Next       string     `json:"next_step,omitempty" doc:"the act that it waits for"`
	ReplayID   ID         `json:"replay_id,omitzero" doc:"the replay that it is part of"`
	EntityID   string     `json:"entity_id,omitempty"`
	State      State      `json:"state,omitempty" doc:"of its error; empty in lists if that is archived"`
	Tier       int        `json:"escalation_level,omitempty"`
	Owner      string     `json:"owner,omitempty"`
	ParkReason ParkReason `json:"park_reason,omitempty"`
	ExpiresAt  time.Time  `json:"expires_at,omitzero" doc:"not while it is part of a replay"`
	Repeated   bool       `json:"repeated,omitempty" doc:"the same request was answered before"`
}

// Open reports whether there is a dead letter and it is not closed yet.
func (d *DeadLetter) Open() bool { return !d.ErrorID.IsZero() && d.ClosedAt.IsZero() }

// DeadLetterDetails is a dead letter with all that is known of it.
type DeadLetterDetails struct {
	DeadLetter
	Rounds  []Round      `json:"rounds" doc:"every failure for good, the first first"`
	Notes   []Note       `json:"notes" doc:"what was done about it, oldest first"`
	Replays []ReplayItem `json:"replays" doc:"that it was part of, the last first"`
}

// Round is one final failure of the work. Rounds are append-only.
type Round struct {
	ErrorID        ID        `json:"-"`
	Round          int       `json:"round"` // from 1
	ReplayID       ID        `json:"replay_id,omitzero" doc:"the replay that ended so"`
	Stage          string    `json:"stage"`
	Class          Code      `json:"error_class"`
	Signature      string    `json:"signature,omitempty"`
	LastStack      string    `json:"last_stack,omitempty"`        // redacted
	Context        JSON      `json:"sanitized_context,omitempty"` // of the allowed keys
	FirstFailureAt time.Time `json:"first_failure_at"`
	LastFailureAt  time.Time `json:"last_failure_at"`
	At             time.Time `json:"at"`
}

// Note is one entry in the history of a dead letter, a replay or a group: it belongs
// to exactly one of them. Notes are append-only.
type Note struct {
	ErrorID  ID           `json:"-"`
	ReplayID ID           `json:"-"`
	GroupID  ID           `json:"-"`
	Round    int          `json:"round,omitempty"`
	Step     WorkflowStep `json:"step"` // of a replay or a group: the act
	Actor    string       `json:"actor"`
	At       time.Time    `json:"at"`
	Text     string       `json:"note,omitempty"`
	Link     string       `json:"link,omitempty"`   // the ticket or incident
	Fields   JSON         `json:"fields,omitempty"` // what this act requires
}

// NoteArchived is the Step of a note that records who archived a dead letter by hand,
// and why.
const NoteArchived WorkflowStep = "ARCHIVED"

// DeadLetterFilter selects dead letters. All fields that are set must match. Closed
// ones are listed only if Step asks for them.
type DeadLetterFilter struct {
	Pipeline string       `json:"pipeline,omitempty" query:"pipeline"`
	Stage    string       `json:"stage,omitempty" query:"stage"`
	Class    Code         `json:"error_class,omitempty" query:"error_class"`
	Step     WorkflowStep `json:"step,omitempty" query:"step" enum:"NEW,TRIAGED,REMEDIATED,VALIDATED,REPLAYING,REPLAYED,VERIFIED"`
	GroupID  ID           `json:"group_id,omitzero" query:"group_id"`
	After    time.Time    `json:"after,omitzero" query:"after" doc:"created at or after"`
	Before   time.Time    `json:"before,omitzero" query:"before" doc:"created before"`
}

// DeadLetterGroup is what dead letters of the same pipeline, stage, class and
// normalised cause have in common.
type DeadLetterGroup struct {
	ID          ID        `json:"group_id"`
	Pipeline    string    `json:"pipeline"`
	Stage       string    `json:"stage"`
	Class       Code      `json:"error_class"`
	Signature   string    `json:"signature,omitempty"`
	Owner       string    `json:"owner,omitempty"`
	Note        string    `json:"note,omitempty"` // the present one; notes keep the others
	FirstSeenAt time.Time `json:"first_seen_at"`
	LastSeenAt  time.Time `json:"last_seen_at"`
	Open        int64     `json:"open" doc:"dead letters that are not closed"`
	Total       int64     `json:"total" doc:"failures, every round counted"`
}

// DeadLetterGroupDetails is a group with its trend and its notes.
type DeadLetterGroupDetails struct {
	DeadLetterGroup
	Days  []DayCount `json:"days" doc:"what it gained on each UTC day of the last 30; days without anything are left out"`
	Notes []Note     `json:"notes"`
}

// DayCount is how many dead letters arrived on a UTC day.
type DayCount struct {
	Day time.Time `json:"day"`
	N   int64     `json:"n"`
}

// GroupID names the group of dead letters that have all of these in common.
func GroupID(pipeline, stage string, class Code, signature string) ID {
	h := sha256.New()
	for _, part := range []string{pipeline, stage, string(class), signature} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write([]byte(part))
	}
	return ID(h.Sum(nil)[:len(ID{})])
}
