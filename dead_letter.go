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
	ErrorID        ID           `json:"error_id" doc:"names the dead letter"`
	WorkID         ID           `json:"work_id" doc:"the work that failed"`
	Pipeline       string       `json:"pipeline" doc:"the pipeline it was in"`
	Stage          string       `json:"stage" doc:"the stage that failed"`
	Class          Code         `json:"error_class" doc:"the code of its last failure"`
	Signature      string       `json:"signature,omitempty" doc:"the normalised cause, by which dead letters are grouped"`
	GroupID        ID           `json:"group_id" doc:"the group of dead letters that failed alike"` // set by the store: see [GroupID]
	Step           WorkflowStep `json:"step" doc:"where it is in the workflow: NEW, TRIAGED, REMEDIATED, VALIDATED, REPLAYING, REPLAYED or VERIFIED"`
	Cause          Cause        `json:"cause,omitempty" doc:"the root cause that triage found"`
	Exhausted      bool         `json:"exhausted,omitempty" doc:"what failed could be retried, and its budget was spent"`
	Round          int          `json:"round" doc:"how often the work has failed for good"`
	FirstFailureAt time.Time    `json:"first_failure_at" doc:"when the stage first failed"`
	LastFailureAt  time.Time    `json:"last_failure_at" doc:"when it last failed"`
	PayloadRef     string       `json:"payload_ref,omitempty" doc:"where the payload can be found"`
	PayloadHash    string       `json:"payload_hash,omitempty" doc:"of the payload, truncated"`
	PreviousID     ID           `json:"previous_id,omitzero" doc:"the closed dead letter of the same work before this one"`
	HeldExpiry     time.Time    `json:"-"` // when the error expires, suspended while it is part of a replay
	CreatedAt      time.Time    `json:"created_at" doc:"when it was recorded"`
	UpdatedAt      time.Time    `json:"updated_at" doc:"when it was last changed"`
	ClosedAt       time.Time    `json:"closed_at,omitzero" doc:"verified, or archived"`

	DeadLetterStatus
}

// DeadLetterStatus is what a dead letter's error and replay add to it. It is set in responses
// and not stored with the dead letter.
type DeadLetterStatus struct {
	Next       string     `json:"next_step,omitempty" doc:"the act that it waits for"`
	ReplayID   ID         `json:"replay_id,omitzero" doc:"the replay that it is part of"`
	EntityID   string     `json:"entity_id,omitempty" doc:"what cannot go on because of it"`
	State      State      `json:"state,omitempty" doc:"of its error; empty in lists if that is archived"`
	Tier       int        `json:"escalation_level,omitempty" doc:"how far it was escalated: 0, not at all, to 3"`
	Owner      string     `json:"owner,omitempty" doc:"who has to act on it"`
	ParkReason ParkReason `json:"park_reason,omitempty" doc:"why it waits for a person"`
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
	Round          int       `json:"round" doc:"which time it failed, from 1"`
	ReplayID       ID        `json:"replay_id,omitzero" doc:"the replay that ended so"`
	Stage          string    `json:"stage" doc:"the stage that failed"`
	Class          Code      `json:"error_class" doc:"the code of the failure"`
	Signature      string    `json:"signature,omitempty" doc:"what failures alike have in common"`
	LastStack      string    `json:"last_stack,omitempty" doc:"the stack, with secrets replaced"`
	Context        JSON      `json:"sanitized_context,omitempty" doc:"attempts, ids and counts; of the allowed keys"`
	FirstFailureAt time.Time `json:"first_failure_at" doc:"when the stage first failed in this round"`
	LastFailureAt  time.Time `json:"last_failure_at" doc:"when it last failed"`
	At             time.Time `json:"at" doc:"when it was recorded"`
}

// Note is one entry in the history of a dead letter, a replay or a group: it belongs
// to exactly one of them. Notes are append-only.
type Note struct {
	ErrorID  ID           `json:"-"`
	ReplayID ID           `json:"-"`
	GroupID  ID           `json:"-"`
	Round    int          `json:"round,omitempty" doc:"the round that it is about"`
	Step     WorkflowStep `json:"step" doc:"the step that was taken; of a replay or a group, the act"`
	Actor    string       `json:"actor" doc:"who took it"`
	At       time.Time    `json:"at" doc:"when"`
	Text     string       `json:"note,omitempty" doc:"what was noted"`
	Link     string       `json:"link,omitempty" doc:"the ticket or incident"`
	Fields   JSON         `json:"fields,omitempty" doc:"what else the step asked for"`
}

// NoteArchived is the Step of a note that records who archived a dead letter by hand,
// and why.
const NoteArchived WorkflowStep = "ARCHIVED"

// DeadLetterFilter selects dead letters. All fields that are set must match. Closed
// ones are listed only if Step asks for them.
type DeadLetterFilter struct {
	Pipeline string       `json:"pipeline,omitempty" query:"pipeline" doc:"only this pipeline"`
	Stage    string       `json:"stage,omitempty" query:"stage" doc:"only this stage"`
	Class    Code         `json:"error_class,omitempty" query:"error_class" doc:"only this code"`
	Step     WorkflowStep `json:"step,omitempty" query:"step" enum:"NEW,TRIAGED,REMEDIATED,VALIDATED,REPLAYING,REPLAYED,VERIFIED" doc:"only dead letters at this step of the workflow"`
	GroupID  ID           `json:"group_id,omitzero" query:"group_id" doc:"only this group"`
	After    time.Time    `json:"after,omitzero" query:"after" doc:"created at or after"`
	Before   time.Time    `json:"before,omitzero" query:"before" doc:"created before"`
}

// DeadLetterGroup is what dead letters of the same pipeline, stage, class and
// normalised cause have in common.
type DeadLetterGroup struct {
	ID          ID        `json:"group_id" doc:"names the group"`
	Pipeline    string    `json:"pipeline" doc:"the pipeline"`
	Stage       string    `json:"stage" doc:"the stage that failed"`
	Class       Code      `json:"error_class" doc:"the code of the failures"`
	Signature   string    `json:"signature,omitempty" doc:"what the failures have in common"`
	Owner       string    `json:"owner,omitempty" doc:"who takes care of it"`
	Note        string    `json:"note,omitempty" doc:"what is known of it now"`
	FirstSeenAt time.Time `json:"first_seen_at" doc:"when its first dead letter came"`
	LastSeenAt  time.Time `json:"last_seen_at" doc:"when its last dead letter came"`
	Open        int64     `json:"open" doc:"dead letters that are not closed"`
	Total       int64     `json:"total" doc:"failures, every round counted"`
}

// DeadLetterGroupDetails is a group with its trend and its notes.
type DeadLetterGroupDetails struct {
	DeadLetterGroup
	Days  []DayCount `json:"days" doc:"what it gained on each UTC day of the last 30; days without anything are left out"`
	Notes []Note     `json:"notes" doc:"what people noted, oldest first"`
}

// DayCount is how many dead letters arrived on a UTC day.
type DayCount struct {
	Day time.Time `json:"day" doc:"the day"`
	N   int64     `json:"n" doc:"how many"`
}

// GroupDay is how many dead letters of a group arrived on a UTC day.
type GroupDay struct {
	GroupID ID `json:"group_id" doc:"the group"`
	DayCount
}

// GroupID names the group of dead letters that have all of these in common.
func GroupID(pipeline, stage string, class Code, signature string) ID {
	text := make([]byte, 0, 512) // enough for most, on the stack
	for _, part := range [...]string{pipeline, stage, string(class), signature} {
		text = binary.BigEndian.AppendUint32(text, uint32(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return ID(sum[:len(ID{})])
}
