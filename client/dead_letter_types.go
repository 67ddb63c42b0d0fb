package client

import (
	"encoding/json"
	"time"

	"recoup"
)

// The steps of a dead letter on its way out.
const (
	StepNew        = "NEW"
	StepTriaged    = "TRIAGED"
	StepRemediated = "REMEDIATED"
	StepValidated  = "VALIDATED"
	StepReplaying  = "REPLAYING"
	StepReplayed   = "REPLAYED"
	StepVerified   = "VERIFIED"
)

// The causes that triage finds.
const (
	CauseTransient  = "TRANSIENT"
	CauseData       = "DATA"
	CauseAuthConfig = "AUTH_CONFIG"
	CauseCodeDefect = "CODE_DEFECT"
)

// DeadLetter is work that failed for good and waits to be replayed.
type DeadLetter struct {
	ErrorID        recoup.ID    `json:"error_id"`
	WorkID         recoup.ID    `json:"work_id"`
	Pipeline       string       `json:"pipeline"`
	Stage          string       `json:"stage"`
	Class          recoup.Code  `json:"error_class"`
	Signature      string       `json:"signature,omitempty" doc:"the normalised cause, by which dead letters are grouped"`
	GroupID        recoup.ID    `json:"group_id"`
	Step           string       `json:"step"`
	Next           string       `json:"next_step,omitempty" doc:"the act that it waits for"`
	Cause          string       `json:"cause,omitempty"`
	Exhausted      bool         `json:"exhausted,omitempty" doc:"what failed could be retried, and its budget was spent"`
	Round          int          `json:"round" doc:"how often the work has failed for good"`
	FirstFailureAt time.Time    `json:"first_failure_at"`
	LastFailureAt  time.Time    `json:"last_failure_at"`
	PayloadRef     string       `json:"payload_ref,omitempty"`
	PayloadHash    string       `json:"payload_hash,omitempty"`
	PreviousID     recoup.ID    `json:"previous_id,omitzero" doc:"the closed dead letter of the same work before this one"`
	ReplayID       recoup.ID    `json:"replay_id,omitzero" doc:"the replay that it is part of"`
	EntityID       string       `json:"entity_id,omitempty"`
	State          recoup.State `json:"state,omitempty" doc:"of its error; empty in lists if that is archived"`
	Tier           int          `json:"escalation_level,omitempty"`
	Owner          string       `json:"owner,omitempty"`
	ParkReason     string       `json:"park_reason,omitempty"`
	ExpiresAt      time.Time    `json:"expires_at,omitzero" doc:"not while it is part of a replay"`
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
	ClosedAt       time.Time    `json:"closed_at,omitzero" doc:"verified, or archived"`
	Repeated       bool         `json:"repeated,omitempty" doc:"the same request was answered before"`
}

// DeadLetterPage is a page of dead letters, newest first.
type DeadLetterPage struct {
	DeadLetters []DeadLetter `json:"dead_letters"`
	Next        string       `json:"next,omitempty"`
}

// DeadLetterDetails is a dead letter with all that is known of it.
type DeadLetterDetails struct {
	DeadLetter
	Rounds  []Round      `json:"rounds" doc:"every failure for good, the first first"`
	Notes   []Note       `json:"notes" doc:"what was done about it, oldest first"`
	Replays []ReplayItem `json:"replays" doc:"that it was part of, the last first"`
}

// Round is one failure of the work for good.
type Round struct {
	Round          int             `json:"round"`
	ReplayID       recoup.ID       `json:"replay_id,omitzero" doc:"the replay that ended so"`
	Stage          string          `json:"stage"`
	Class          recoup.Code     `json:"error_class"`
	Signature      string          `json:"signature,omitempty"`
	LastStack      string          `json:"last_stack,omitempty"`
	Context        json.RawMessage `json:"sanitized_context,omitempty"`
	FirstFailureAt time.Time       `json:"first_failure_at"`
	LastFailureAt  time.Time       `json:"last_failure_at"`
	At             time.Time       `json:"at"`
}

// Note is one entry of a history that is only ever added to.
type Note struct {
	Round  int             `json:"round,omitempty"`
	Step   string          `json:"step"`
	Actor  string          `json:"actor"`
	At     time.Time       `json:"at"`
	Text   string          `json:"note,omitempty"`
	Link   string          `json:"link,omitempty"`
	Fields json.RawMessage `json:"fields,omitempty"`
}

// DeadLetterFilter selects dead letters. Everything that is set must hold; those
// that are closed are listed by their step only.
type DeadLetterFilter struct {
	Pipeline string    `json:"pipeline,omitempty" query:"pipeline"`
	Stage    string    `json:"stage,omitempty" query:"stage"`
	Class    string    `json:"error_class,omitempty" query:"error_class"`
	Step     string    `json:"step,omitempty" query:"step" enum:"NEW,TRIAGED,REMEDIATED,VALIDATED,REPLAYING,REPLAYED,VERIFIED"`
	GroupID  recoup.ID `json:"group_id,omitzero" query:"group_id"`
	After    time.Time `json:"after,omitzero" query:"after" doc:"created at or after"`
	Before   time.Time `json:"before,omitzero" query:"before" doc:"created before"`
}

func (f DeadLetterFilter) query() query {
	return query{}.text("pipeline", f.Pipeline).text("stage", f.Stage).text("error_class", f.Class).text("step", f.Step).
		text("group_id", f.GroupID.String()).time("after", f.After).time("before", f.Before)
}

// Triage says what is the matter with a dead letter, and confirms what was looked
// at: if the dead letter says otherwise, nothing happens.
type Triage struct {
	Cause     string      `json:"cause" enum:"TRANSIENT,DATA,AUTH_CONFIG,CODE_DEFECT"`
	Stage     string      `json:"stage" doc:"that failed, as was seen" example:"llm"`
	Class     recoup.Code `json:"error_class" doc:"of its failure, as was seen" example:"NETWORK_TIMEOUT"`
	Exhausted *bool       `json:"exhausted" doc:"whether its retries were spent, as was seen"`
	Note      string      `json:"note,omitempty" maxLength:"4000"`
}

// Remediation says what was done, as the cause demands, and where it is written
// down.
type Remediation struct {
	Link            string `json:"link" doc:"the ticket or incident"`
	UpstreamChecked string `json:"upstream_checked,omitempty" maxLength:"4000" doc:"transient: how the upstream was seen to be back"`
	Corrected       string `json:"corrected,omitempty" maxLength:"4000" doc:"data: what was corrected"`
	Fixed           string `json:"fixed,omitempty" maxLength:"4000" doc:"auth or config: what was rotated or fixed"`
	Release         string `json:"release,omitempty" maxLength:"4000" doc:"code defect: the release with the fix"`
	ValidatedIn     string `json:"validated_in,omitempty" maxLength:"4000" doc:"code defect: where the fix was validated"`
	Note            string `json:"note,omitempty" maxLength:"4000"`
}

// Validation says that a replay does no harm.
type Validation struct {
	Idempotent    bool   `json:"idempotent,omitempty" doc:"doing it twice is as good as doing it once"`
	DuplicateSafe string `json:"duplicate_safe,omitempty" maxLength:"4000" doc:"else: why a second effect does no harm"`
	Note          string `json:"note,omitempty" maxLength:"4000"`
}

// Verification says whether the result of a replay has arrived. DELIVERED closes
// the dead letter, NOT_DELIVERED sends it back to triage.
type Verification struct {
	Outcome string `json:"outcome" enum:"DELIVERED,NOT_DELIVERED"`
	Note    string `json:"note" maxLength:"4000"`
	Link    string `json:"link,omitempty"`
}

// ForGroup is an act of the workflow on all open dead letters of a group.
type ForGroup struct {
	Preview bool   `json:"preview,omitempty" doc:"say what would happen, and do nothing"`
	Token   string `json:"token,omitempty" maxLength:"400000" doc:"of the preview whose set is meant; default: the open dead letters of the group now"`
}

// GroupTriage is a [Triage] of a group.
type GroupTriage struct {
	Triage
	ForGroup
}

// GroupRemediation is a [Remediation] of a group.
type GroupRemediation struct {
	Remediation
	ForGroup
}

// GroupValidation is a [Validation] of a group.
type GroupValidation struct {
	Validation
	ForGroup
}

// GroupVerification is a [Verification] of a group.
type GroupVerification struct {
	Verification
	ForGroup
}

// DeadLetterGroup is what dead letters of the same pipeline, stage, class and
// normalised cause have in common.
type DeadLetterGroup struct {
	ID          recoup.ID   `json:"group_id"`
	Pipeline    string      `json:"pipeline"`
	Stage       string      `json:"stage"`
	Class       recoup.Code `json:"error_class"`
	Signature   string      `json:"signature,omitempty"`
	Owner       string      `json:"owner,omitempty"`
	Note        string      `json:"note,omitempty"`
	FirstSeenAt time.Time   `json:"first_seen_at"`
	LastSeenAt  time.Time   `json:"last_seen_at"`
	Open        int64       `json:"open" doc:"dead letters that are not closed"`
	Total       int64       `json:"total" doc:"failures, every round counted"`
}

// DeadLetterGroupPage is a page of groups, the last seen first.
type DeadLetterGroupPage struct {
	Groups []DeadLetterGroup `json:"groups"`
	Next   string            `json:"next,omitempty"`
}

// DeadLetterGroupDetails is a group with its trend and its notes.
type DeadLetterGroupDetails struct {
	DeadLetterGroup
	Days  []DayCount `json:"days" doc:"what it gained on each UTC day of the last 30; days without anything are left out"`
	Notes []Note     `json:"notes"`
}

// DayCount is how many dead letters arrived on a day.
type DayCount struct {
	Day time.Time `json:"day"`
	N   int64     `json:"n"`
}

// GroupNote says who owns a group, and what is known of it.
type GroupNote struct {
	Owner string `json:"owner,omitempty"`
	Note  string `json:"note,omitempty" maxLength:"4000"`
}

// PayloadLook asks for the payload of a dead letter. The reason is kept.
type PayloadLook struct {
	Reason string `json:"reason" maxLength:"1000"`
}

// Payload is what a dead letter is about.
type Payload struct {
	Payload []byte `json:"payload" doc:"base64"`
}
