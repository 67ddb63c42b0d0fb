package client

import (
	"encoding/json"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Counts is how many errors each table has in each state.
type Counts struct {
	Counts []recoup.StateCount `json:"counts" doc:"one for each table and state that has errors"`
}

// TopCodes are the codes with the most events in a time.
type TopCodes struct {
	From  time.Time          `json:"from" doc:"counted from"`
	To    time.Time          `json:"to" doc:"counted until"`
	Codes []recoup.CodeCount `json:"codes" doc:"the most frequent first"`
}

// RetryableRates is the share of failures that are worth trying again.
type RetryableRates struct {
	Services []recoup.ServiceRate `json:"services" doc:"one for each service"`
}

// Daily is counts by day, service and code.
type Daily struct {
	Days []DailyCount `json:"days" doc:"one for each day, service and code"`
}

// DailyCount is how often a service failed with a code on a day.
type DailyCount struct {
	Day       string      `json:"day" format:"date" doc:"in UTC"`
	Service   string      `json:"service" doc:"the service"`
	Code      recoup.Code `json:"code" doc:"the code"`
	Count     int64       `json:"count" doc:"how many events"`
	Retryable int64       `json:"retryable_count" doc:"how many of them were worth trying again"`
	LastSeen  time.Time   `json:"last_seen_at" doc:"when the last one happened"`
}

// Drops counts events that were left out of the ledger.
type Drops struct {
	Drops []Drop `json:"drops" doc:"one for each day and reason"`
}

// Drop is how many events were left out of the ledger on a day, and why.
type Drop struct {
	Day    string `json:"day" format:"date" doc:"in UTC"`
	Reason string `json:"reason" doc:"why it was left out"`
	N      int64  `json:"n" doc:"how many"`
}

// Export is counts by day, or, if rows were asked for, a page of events.
type Export struct {
	Days   []DailyCount         `json:"days,omitempty" doc:"counts by day, service and code"`
	Events []recoup.StoredEvent `json:"events,omitempty" doc:"the events themselves, with rows=true"`
	Next   string               `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// Codes is the registry.
type Codes struct {
	Codes []fault.Definition `json:"codes"`
}

// RawFailure is something that went wrong, as it happened: what a provider or a
// server answered, or what a database said.
type RawFailure struct {
	Provider string            `json:"provider,omitempty" doc:"a registered provider"`
	Status   int               `json:"status,omitempty" doc:"of an HTTP answer: 100 to 599, and up to 999 with a provider"`
	Headers  map[string]string `json:"headers,omitempty" doc:"of an HTTP answer; Retry-After counts"`
	Body     string            `json:"body,omitempty" maxLength:"8192" doc:"of an HTTP answer"`
	SQLState string            `json:"sqlstate,omitempty" doc:"of a database error, with or without a provider"`
	Message  string            `json:"message,omitempty" maxLength:"8192" doc:"of an error of the provider; its words count where neither a status nor a sqlstate decides"`

	Idempotent *bool `json:"idempotent,omitempty" doc:"false: the work must not be done twice, so what may have happened already is not retryable; true: it may, or carries an idempotency key"`
}

// Classified is what a [RawFailure] means.
type Classified struct {
	Code       recoup.Code        `json:"code" doc:"what it is"`
	Retryable  bool               `json:"retryable" doc:"whether trying again can succeed without a change"`
	Conditions []recoup.Condition `json:"conditions,omitempty" doc:"what must be proven before it is retried"`
	Scope      fault.Scope        `json:"scope,omitempty" doc:"what a retry repeats: request, transaction, or idempotent_only if it may have been done already"`
	RetryAfter int                `json:"retry_after,omitempty" doc:"seconds to wait"`
	Details    map[string]any     `json:"details,omitempty" doc:"what else the failure said"`
	Definition fault.Definition   `json:"definition" doc:"all that is registered about the code"`
}

// KeyRotation asks for a key that replaces another.
type KeyRotation struct {
	Hours  *int   `json:"hours,omitempty" minimum:"0" maximum:"168" doc:"how long the old key still works; 0: it ends now; default 24"`
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}

// reason is the body of a call that needs nothing else.
type reason struct {
	Reason string `json:"reason,omitempty"`
}

// AuditPage is a page of the audit, newest first.
type AuditPage struct {
	Entries []recoup.AuditEntry `json:"entries" doc:"this page of the list"`
	Next    string              `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// Policy is the policy in force.
type Policy struct {
	Version string `json:"version" doc:"the version in force"`
	Text    string `json:"text" doc:"the policy file, as it was written"`
}

// PolicyVersionPage is a page of policies, newest first.
type PolicyVersionPage struct {
	Versions []recoup.PolicyVersion `json:"versions" doc:"this page of the list"`
	Next     string                 `json:"next,omitempty" doc:"the cursor of the next page; none: this is the last"`
}

// PolicyFile is a policy to be checked.
type PolicyFile struct {
	Text string `json:"text" doc:"the policy file"`
}

// PolicyChange asks to put a policy in force.
type PolicyChange struct {
	Text   string `json:"text" doc:"the policy file"`
	Rebase bool   `json:"rebase,omitempty" doc:"apply it to the open errors too"`
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the versions list it"`
}

// PolicyApplied is the answer to a [PolicyChange]. Added is false if the policy was in
// force already.
type PolicyApplied struct {
	Version string          `json:"version"`
	Number  int64           `json:"number"`
	At      time.Time       `json:"at"`
	By      string          `json:"by"`
	Added   bool            `json:"added"`
	Rebased json.RawMessage `json:"rebased,omitempty"`
}

// PolicyPlan is what a policy would change of the open errors, as the server returns
// it.
type PolicyPlan = json.RawMessage
