package recoup

import "time"

// ParkedFilter selects from the park queue.
type ParkedFilter struct {
	Table string `query:"table" doc:"only this error table"`
	Hub   string `query:"hub" doc:"only tables of this hub"`
}

// ErrorFilter selects open errors. All fields that are set must match.
type ErrorFilter struct {
	Table      string    `json:"table,omitempty" query:"table" doc:"only this error table"`
	Hub        string    `json:"hub,omitempty" query:"hub" doc:"only tables of this hub"`
	State      State     `json:"state,omitempty" query:"state" enum:"ACTIVE,RETRY_PENDING,PARKED,ESCALATED,RESOLVED" doc:"only errors in this state"`
	EntityID   string    `json:"entity_id,omitempty" query:"entity_id" doc:"only errors of this entity"`
	Code       string    `json:"code,omitempty" query:"code" doc:"only this code"`
	AssignedTo string    `json:"assigned_to,omitempty" query:"assigned_to" doc:"only errors of this owner"`
	Group      ID        `json:"group,omitzero" query:"group" doc:"only errors of this group"`
	Text       string    `json:"q,omitempty" query:"q" maxLength:"200" doc:"only errors whose messages have this in common; numbers, ids and quoted text stand for any other"`
	Tier       int       `json:"tier,omitempty" query:"tier" minimum:"0" maximum:"3" doc:"only errors at this escalation tier"`
	Blocking   *bool     `json:"blocking,omitempty" query:"blocking" doc:"true: those that block their entity; false: the others"`
	Parked     *bool     `json:"parked,omitempty" query:"parked" doc:"true: PARKED or ESCALATED; false: the others"`
	Before     time.Time `json:"before,omitzero" query:"before" doc:"created before"`
	After      time.Time `json:"after,omitzero" query:"after" doc:"created at or after"`
}

// ErrorPage is a page of errors. Next is the cursor of the following page; it is
// empty at the end.
type ErrorPage struct {
	Errors    []Error `json:"errors" doc:"this page of the list"`
	Next      string  `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
	Truncated bool    `json:"truncated,omitempty" doc:"the search for q has left groups out: there may be more errors than this list has; narrow it"`
}

// ErrorHistory is what happened to an error, oldest first.
type ErrorHistory struct {
	Transitions []Transition `json:"transitions" doc:"what happened, oldest first"`
}

// StateCounts is how many errors each table has in each state.
type StateCounts struct {
	Counts []StateCount `json:"counts" doc:"one for each table and state that has errors"`
}
