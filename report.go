package recoup

import "time"

// Report is a failure to be governed: what could not go on (the entity), in
// which error table, and why (the code).
type Report struct {
	Table         string      `json:"table" doc:"the error table, as the policy names it" example:"app.errors"`
	EntityID      string      `json:"entity_id,omitempty" doc:"what cannot go on because it failed" example:"CO-20260205-000001"`
	Code          string      `json:"code" doc:"the kind of failure, in either case, or an alias" example:"NETWORK_TIMEOUT"`
	Severity      Severity    `json:"severity,omitempty" enum:"CRITICAL,HIGH,MEDIUM,LOW" doc:"how bad it is; default: the code's"`
	Message       string      `json:"message,omitempty" maxLength:"8192" doc:"for people; secrets in it are replaced before it is stored"`
	CorrelationID ID          `json:"correlation_id,omitzero" doc:"the request or run that it happened in: a UUID or a ULID"`
	LeaseToken    ID          `json:"lease_token,omitzero" doc:"of the attempt that failed, if it was a retry"`
	RetryAfter    int         `json:"retry_after,omitempty" minimum:"0" maximum:"31536000" doc:"seconds that the failing side asked to wait"`
	Proven        []Condition `json:"proven,omitempty" doc:"what makes a conditional code worth a retry: idempotency_key, same_payload, state_changed"`

	// What the ledger stores of it besides the code.
	Service         string         `json:"service,omitempty" doc:"where it failed; default: the table"`
	Endpoint        string         `json:"endpoint,omitempty" doc:"what was called: the pattern, not the address"`
	Region          string         `json:"region,omitempty" doc:"where the service runs"`
	ExternalService string         `json:"external_service,omitempty" doc:"the registered provider that failed"`
	Tenant          string         `json:"tenant,omitempty" doc:"whose request it was; kept as a keyed hash only"`
	HTTPStatus      int            `json:"http_status,omitempty" doc:"of the answer that failed"`
	Details         map[string]any `json:"details,omitempty" doc:"allowed keys: retryable, field, limit, window_sec, expected_etag, existing_id; others are dropped and counted"`
}

// Reported is the answer to a report.
type Reported struct {
	Error      Error          `json:"error" doc:"the error as it is now"`
	Orphaned   Orphaning      `json:"orphaned,omitempty" enum:"unknown_table,entity_required" doc:"why the error is in the table of orphans and not in the one that the report names"`
	Superseded ID             `json:"superseded,omitzero" doc:"the older error that this one replaces"`
	Redacted   map[string]int `json:"redacted,omitempty" doc:"how often each rule found a secret in the message"`
	Repeated   bool           `json:"repeated,omitempty" doc:"the same request was answered before"`
}

// Orphaning is why a report is kept in the table of orphans.
type Orphaning string

// The reasons for which a report is an orphan.
const (
	UnknownTable   Orphaning = "unknown_table"   // the policy does not have the table, or calls it dead
	EntityRequired Orphaning = "entity_required" // the table requires an entity, and the report names none
)

// Explanation says of one error which rules decided, what happens next by itself
// and when, and what a person can do.
type Explanation struct {
	Error   Error      `json:"error" doc:"the error as it is now"`
	Policy  string     `json:"policy_version" doc:"the policy that judged it"`
	Owner   string     `json:"owner" doc:"who has to act on it"`
	Decided []Rule     `json:"decided" doc:"which rules decided what"`
	Next    []Deadline `json:"next" doc:"what happens by itself, soonest first"`
	Exits   []string   `json:"exits" doc:"what a person can do now"`
	Newer   string     `json:"newer_policy,omitempty" doc:"a newer policy that does not apply to this error unless it is rebased"`
	Refused string     `json:"refused,omitempty" doc:"why the database refuses to change it: until that is mended, claims and scheduled jobs pass it over"`
}

// Rule is what decided one value.
type Rule struct {
	Field     string `json:"field" doc:"what was decided"`
	Value     string `json:"value" doc:"what it came to"`
	Why       string `json:"why" doc:"by which rule"`
	Line      int    `json:"line,omitempty" doc:"of the policy file"` // none if the report or its code decided
	Overruled bool   `json:"overruled,omitempty" doc:"a later rule decided otherwise"`
}

// Deadline is something that happens by itself.
type Deadline struct {
	At   time.Time `json:"at" doc:"when"`
	What string    `json:"what" doc:"what happens then"`
}

// StateCount is how many errors a table has in a state.
type StateCount struct {
	Table string `json:"table" doc:"the error table"`
	State State  `json:"state" doc:"the state"`
	N     int64  `json:"n" doc:"how many"`
}
