package recoup

import (
	"encoding/json"
	"strings"
	"time"
)

// NewWorkItem is something to be taken through a pipeline.
type NewWorkItem struct {
	WorkID       ID     `json:"work_id,omitzero" doc:"default: one is made; work of an id that is in the queue is not there twice, and work that was submitted with it within a day and is finished is not done again"`
	Pipeline     string `json:"pipeline" example:"criticizer" doc:"a name of your own"`
	Stage        string `json:"stage" doc:"the first stage" example:"fetch"`
	EntityID     string `json:"entity_id,omitempty" doc:"what the work is about: if the work becomes a dead letter, this entity is not promoted until that is verified, archived or expired" example:"CO-20260205-000001"`
	PayloadRef   string `json:"payload_ref,omitempty" doc:"where the payload can be found"`
	PayloadHash  string `json:"payload_hash,omitempty" doc:"a hash of the payload, in hexadecimal or base64url; its first 16 digits or 20 characters are kept"`
	Payload      []byte `json:"payload,omitempty" doc:"base64, at most 256 KiB; kept encrypted"`
	DelaySeconds int    `json:"delay_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"how long to wait before it can be claimed"`
}

// WorkItem is a piece of work that waits for a worker, or that one has. It is in the queue
// from its submission or its release to its end.
type WorkItem struct {
	WorkID      ID        `json:"work_id" doc:"names the work"`
	Pipeline    string    `json:"pipeline" doc:"the pipeline it is in"`
	Stage       string    `json:"stage" doc:"at which it goes on"`
	EntityID    string    `json:"entity_id,omitempty" doc:"what it is about"`
	Class       Code      `json:"error_class,omitempty" doc:"of the dead letter that is replayed"`
	ReplayID    ID        `json:"replay_id,omitzero" doc:"the replay that it belongs to; none: it is new"` // zero: it is new
	ErrorID     ID        `json:"error_id,omitzero" doc:"of the dead letter that is replayed"`
	PayloadRef  string    `json:"payload_ref,omitempty" doc:"where the payload can be found"`
	PayloadHash string    `json:"payload_hash,omitempty" doc:"of the payload, truncated"`
	CreatedAt   time.Time `json:"created_at" doc:"when it was submitted"`

	// DueAt is when it may be claimed; of leased work, when the lease ends. Zero:
	// it cannot be claimed, and waits for the system.
	DueAt time.Time `json:"due_at,omitzero" doc:"when it may be claimed; of leased work, when the lease ends"`
	Lease
	Claims   int  `json:"claims,omitempty" doc:"how often it was claimed"`
	Failures JSON `json:"failures,omitempty" doc:"failed attempts that may be retried, counted by the server for each stage since the work came into the queue: {\"fetch\": {\"attempts\": 2, \"error_class\": \"NETWORK_TIMEOUT\", \"first_failure_at\": …, \"last_failure_at\": …}}"`
	Lapses   int  `json:"lapses,omitempty" doc:"how many workers were lost over it"`
	Repeated bool `json:"repeated,omitempty" doc:"the same request was answered before"` // shown only
}

// StageFailures is what the server has counted of a stage's failed attempts.
type StageFailures struct {
	Attempts       int       `json:"attempts"`
	Class          Code      `json:"error_class"` // of the last
	FirstFailureAt time.Time `json:"first_failure_at"`
	LastFailureAt  time.Time `json:"last_failure_at"` // when the server was told
}

// FailedStages returns what Failures says, by stage.
func (w *WorkItem) FailedStages() map[string]StageFailures {
	stages := map[string]StageFailures{}
	if w.Failures != "" && json.Unmarshal([]byte(w.Failures), &stages) != nil {
		return map[string]StageFailures{}
	}
	return stages
}

// Under returns the work as claimed under a lease, for the first time or after its last
// worker gave it back.
func (w WorkItem) Under(l Lease) WorkItem {
	w.Lease, w.DueAt = l, l.LeaseEndsAt
	w.Claims++
	return w
}

// Public returns the work without its lease token, which only its worker may have.
func (w WorkItem) Public() WorkItem {
	w.LeaseToken = ID{}
	return w
}

// Lane is where work is claimed: at a stage of a pipeline.
type Lane struct {
	Pipeline string `json:"pipeline" doc:"the pipeline"`
	Stage    string `json:"stage" doc:"the stage that the worker does"`
}

// String writes a lane as people do: images/resize. Neither name has a slash.
func (l Lane) String() string { return l.Pipeline + "/" + l.Stage }

// ParseLane reads what String writes.
func ParseLane(s string) (Lane, bool) {
	pipeline, stage, ok := strings.Cut(s, "/")
	return Lane{pipeline, stage}, ok && pipeline != "" && stage != ""
}

// WorkClaim asks for work.
type WorkClaim struct {
	Lanes        []Lane `json:"lanes" minItems:"1" maxItems:"100" doc:"what the worker takes"`
	Worker       string `json:"worker" doc:"a name for the history"`
	Limit        int    `json:"limit,omitempty" minimum:"0" maximum:"1000" default:"10" doc:"how many at most"`
	LeaseSeconds int    `json:"lease_seconds,omitempty" minimum:"0" doc:"how long the lease is; default: the policy's"`
	WaitSeconds  int    `json:"wait_seconds,omitempty" minimum:"0" maximum:"60" doc:"how long to wait if there is none"`
}

// ClaimedWork is work as its worker gets it: with the token of the lease, and the
// payload where that is kept by the server.
type ClaimedWork struct {
	WorkItem
	Payload []byte `json:"payload,omitempty" doc:"base64"`
	Context JSON   `json:"sanitized_context,omitempty" doc:"of the dead letter that is replayed, as its last failure left it"`
}

// WorkResult is a worker's result for work that it has claimed. Failure describes the
// failure, if it failed.
type WorkResult struct {
	WorkID       ID            `json:"work_id,omitzero" doc:"the work; leave it out where the path names it"`
	LeaseToken   ID            `json:"lease_token" doc:"of the claim"`
	Outcome      string        `json:"outcome,omitempty" enum:"succeed,fail,extend,release" doc:"what became of it; leave it out where the path says so"`
	LeaseSeconds int           `json:"lease_seconds,omitempty" minimum:"0" doc:"of extend: how long from now"`
	Failure      *StageFailure `json:"failure,omitempty" doc:"fail: how"`
}

// WorkDone is the answer to a result: the work as it is in the queue, if it still is,
// and its dead letter, if it has one. Work that failed and is retried is in the queue,
// due when its stage is tried again.
type WorkDone struct {
	Work       *WorkItem   `json:"work,omitempty" doc:"the work, if it is still in the queue"`
	DeadLetter *DeadLetter `json:"dead_letter,omitempty" doc:"what it became, if it failed for good"`
	Repeated   bool        `json:"repeated,omitempty" doc:"the same request was answered before"`
}

// WorkProgress is how far a piece of work has come.
type WorkProgress struct {
	Outputs map[string][]byte `json:"outputs" doc:"of the stages that are finished, in base64"`
	Restart int               `json:"restart,omitempty" doc:"not zero: it was begun anew on purpose, and its effects are wanted once more"`
}

// PauseScope selects the work that is paused, by pipeline, stage and error class. All
// fields that are set must match.
type PauseScope struct {
	Pipeline string `json:"pipeline,omitempty" query:"pipeline" doc:"only this pipeline"`
	Stage    string `json:"stage,omitempty" query:"stage" doc:"only this stage"`
	Class    Code   `json:"error_class,omitempty" query:"error_class" doc:"of the dead letters that are replayed"`
}

// NewPause keeps work from being claimed.
type NewPause struct {
	PauseScope
	All    bool      `json:"all,omitempty" doc:"nothing is named, and all work is meant"`
	Reason string    `json:"reason" maxLength:"4000" doc:"why; others read it in the list"`
	Until  time.Time `json:"until,omitzero" doc:"default: until it is lifted"`
}

// WorkPause is a pause that holds.
type WorkPause struct {
	PauseScope
	By     string    `json:"by" doc:"who paused it"`
	Reason string    `json:"reason" doc:"why"`
	At     time.Time `json:"at" doc:"since when"`
	Until  time.Time `json:"until,omitzero" doc:"until when; none: until it is lifted"` // zero: until it is lifted
}
