package client

import (
	"encoding/json"
	"time"

	"github.com/recoup-dev/recoup"
)

// Item is the answer to one item of a batch: a result, or a failure.
type Item[T any] struct {
	Result  *T              `json:"result,omitempty" doc:"what became of the item; none: it failed"`
	Failure json.RawMessage `json:"failure,omitempty" doc:"an error of the usual shape"`
}

// ReportBatch is many reports; each succeeds or fails on its own.
type ReportBatch struct {
	Reports []recoup.Report `json:"reports" minItems:"1" maxItems:"1000" doc:"the reports; each succeeds or fails on its own"`
}

// ReportedBatch answers a [ReportBatch], in its order.
type ReportedBatch struct {
	Items []Item[recoup.Reported] `json:"items" doc:"an answer for each report, in their order"`
}

// Act is what a person does with an error. Reason is required for park, unpark,
// resolve, escalate and archive.
type Act = recoup.Act

// Acted is the answer to an act.
type Acted struct {
	Error    recoup.Error `json:"error,omitzero" doc:"left out of an answer to Prefer: return=minimal"`
	Warning  string       `json:"warning,omitempty" doc:"something the caller may not expect"`
	Repeated bool         `json:"repeated,omitempty" doc:"the same request was answered before"`
}

// Filter selects open errors. All fields that are set must match.
type Filter struct {
	Table      string       `json:"table,omitempty" query:"table" doc:"only this error table"`
	Hub        string       `json:"hub,omitempty" query:"hub" doc:"only tables of this hub"`
	State      recoup.State `json:"state,omitempty" query:"state" enum:"ACTIVE,RETRY_PENDING,PARKED,ESCALATED,RESOLVED" doc:"only errors in this state"`
	EntityID   string       `json:"entity_id,omitempty" query:"entity_id" doc:"only errors of this entity"`
	Code       string       `json:"code,omitempty" query:"code" doc:"only this code"`
	AssignedTo string       `json:"assigned_to,omitempty" query:"assigned_to" doc:"only errors of this owner"`
	Group      recoup.ID    `json:"group,omitzero" query:"group" doc:"only errors of this group"`
	Text       string       `json:"q,omitempty" query:"q" maxLength:"200" doc:"only errors whose messages have this in common; numbers, ids and quoted text stand for any other"`
	Tier       int          `json:"tier,omitempty" query:"tier" minimum:"0" maximum:"3" doc:"only errors at this escalation tier"`
	Blocking   *bool        `json:"blocking,omitempty" query:"blocking" doc:"true: those that block their entity; false: the others"`
	Parked     *bool        `json:"parked,omitempty" query:"parked" doc:"true: PARKED or ESCALATED; false: the others"`
	Before     time.Time    `json:"before,omitzero" query:"before" doc:"created before"`
	After      time.Time    `json:"after,omitzero" query:"after" doc:"created at or after"`
}

// Bulk is one act on everything that a filter selected in a preview, or on named
// errors.
type Bulk struct {
	Act
	Filter  Filter      `json:"filter,omitzero" doc:"which errors, in a preview"`
	IDs     []recoup.ID `json:"ids,omitempty" maxItems:"10000" doc:"named errors, instead of a filter"`
	All     bool        `json:"all,omitempty" doc:"an empty filter is meant"`
	Token   string      `json:"token,omitempty" maxLength:"400000" doc:"of the preview whose set is meant, instead of a filter or ids"`
	Preview bool        `json:"preview,omitempty" doc:"say what would happen, and do nothing"`
}

// Claimed is what a claim leased. Each error carries its lease_token.
type Claimed struct {
	Errors []recoup.Error `json:"errors" doc:"what was leased, each with its lease_token; empty: nothing is due"`
}

// Result is a worker's result for one attempt.
type Result struct {
	ErrorID      recoup.ID          `json:"error_id,omitzero" doc:"the error; leave it out where the path names it"`
	LeaseToken   recoup.ID          `json:"lease_token" doc:"of the claim"`
	Outcome      string             `json:"outcome,omitempty" enum:"succeed,fail,extend" doc:"what became of it; leave it out where the path says so"`
	Code         string             `json:"code,omitempty" doc:"of fail: what went wrong this time"`
	Reason       string             `json:"reason,omitempty" maxLength:"1000" doc:"what happened, for the history"`
	RetryAfter   int                `json:"retry_after,omitempty" minimum:"0" maximum:"31536000" doc:"seconds that the failing side asked to wait"`
	Proven       []recoup.Condition `json:"proven,omitempty" doc:"what makes a conditional code worth a retry: idempotency_key, same_payload, state_changed"`
	LeaseSeconds int                `json:"lease_seconds,omitempty" minimum:"0" doc:"of extend: how long from now"`
}

// ResultBatch is many results; each succeeds or fails on its own.
type ResultBatch struct {
	Results []Result `json:"results" minItems:"1" maxItems:"1000" doc:"the results; each succeeds or fails on its own"`
}

// ActedBatch answers a [ResultBatch], in its order.
type ActedBatch struct {
	Items []Item[Acted] `json:"items" doc:"an answer for each result, in their order"`
}

// ErrorPage is a page of errors. Next is the cursor of the following page; it is
// empty at the end.
type ErrorPage struct {
	Errors    []recoup.Error `json:"errors" doc:"this page of the list"`
	Next      string         `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
	Truncated bool           `json:"truncated,omitempty" doc:"the search for q has left groups out: there may be more errors than this list has; narrow it"`
}

// History is what happened to an error, oldest first.
type History struct {
	Transitions []recoup.Transition `json:"transitions" doc:"what happened, oldest first"`
}

// EventBatch is many events for the ledger.
type EventBatch struct {
	Events []recoup.Event `json:"events" doc:"the events; each is checked by itself"`
}

// EventsAccepted is the answer to a batch of events. Durable says whether the accepted
// ones are stored already; if not, they wait in memory.
type EventsAccepted struct {
	Accepted int            `json:"accepted" doc:"how many were taken"`
	Durable  bool           `json:"durable" doc:"they are on disk"`
	Refused  []RefusedEvent `json:"refused,omitempty" doc:"the first hundred"`
	NRefused int            `json:"refused_count,omitempty" doc:"how many were not taken"`
	Dropped  map[string]int `json:"dropped,omitempty" doc:"what was left out of accepted events, by reason"`
}

// RefusedEvent is an event that was not accepted.
type RefusedEvent struct {
	Index   int             `json:"index" doc:"its place among those that were sent, from 0"`
	Failure json.RawMessage `json:"failure" doc:"why, in the shape of any error"`
}

// EventPage is a page of events, newest first.
type EventPage struct {
	Events []recoup.StoredEvent `json:"events" doc:"this page of the list"`
	Next   string               `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// Processed counts work that was done, failed or not, in a minute: the
// denominator of error rates.
type Processed struct {
	Minute     time.Time `json:"minute,omitzero" doc:"which minute; default: now"`
	Table      string    `json:"table,omitempty" doc:"an error table; this or service is needed"`
	Service    string    `json:"service,omitempty" doc:"the service that did the work"`
	Count      int64     `json:"count" minimum:"1" doc:"how much was done, failures included"`
	Failed     int64     `json:"failed,omitempty" minimum:"0" doc:"how much of it failed"`
	DurationMS int64     `json:"duration_ms,omitempty" minimum:"0" doc:"how long all of it took together"`

	FailedDurationMS int64 `json:"failed_duration_ms,omitempty" minimum:"0" doc:"how much of that went into what failed"`
}

// ProcessedBatch is many counts.
type ProcessedBatch struct {
	Counts []Processed `json:"counts" minItems:"1" maxItems:"1000" doc:"sums by minute, table and service"`
}

// NewKey asks for a key.
type NewKey struct {
	Name   string   `json:"name" doc:"who uses it"`
	Role   string   `json:"role" enum:"ingest,worker,operator,admin,reader" doc:"what it may do"`
	Hubs   []string `json:"hubs,omitempty" doc:"the hubs that it is for; default: all"`
	Days   int      `json:"days,omitempty" minimum:"0" maximum:"90" default:"90" doc:"until it expires"`
	Reason string   `json:"reason,omitempty" doc:"why; the audit keeps it"`
}

// KeyPage is a page of keys.
type KeyPage struct {
	Keys []recoup.Key `json:"keys" doc:"this page of the list"`
	Next string       `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}
