package recoup

import (
	"math"
	"time"
)

// Event is the immutable fact that a failure happened: a row of the ledger
// (spec 003). It carries no message, no stack and no payload.
type Event struct {
	ID              ID             `json:"event_id,omitzero" doc:"a UUID or ULID of your own, by which it is not counted twice; default: one is made"`
	Code            Code           `json:"code" doc:"what failed: a code or an alias, in either case"`
	CorrelationID   ID             `json:"correlation_id,omitzero" doc:"the request or run that it happened in"`
	Service         string         `json:"service" doc:"where it happened"`
	Endpoint        string         `json:"endpoint,omitempty" doc:"what was called: the pattern, not the address"`
	HTTPStatus      int            `json:"http_status,omitempty" doc:"of the answer"`
	Tenant          string         `json:"tenant,omitempty" doc:"whose request it was; kept as a keyed hash only"` // never stored: the ledger keeps its keyed hash
	Details         map[string]any `json:"details,omitempty" doc:"allowed keys: retryable, field, limit, window_sec, expected_etag, existing_id; others are dropped and counted"`
	Region          string         `json:"region,omitempty" doc:"where the service runs"`
	ExternalService string         `json:"external_service,omitempty" doc:"the registered provider that failed"`
	TS              time.Time      `json:"ts,omitzero" doc:"when it happened; default: now"`
}

// StoredEvent is an event as the ledger keeps it (spec 003): what its reporter said,
// checked and cleaned, with the keyed hash of the tenant in place of its name.
type StoredEvent struct {
	Event
	ReportedCode Code   `json:"reported_code,omitempty" doc:"the name that was sent, if nobody has registered it"`
	TenantHash   string `json:"tenant_hash,omitempty" doc:"the keyed hash of the tenant"`
	TenantKey    string `json:"tenant_key,omitempty" doc:"the tenant key that made the hash"`

	// Timeless says that the id carries no time, so that duplicates are recognised
	// by the id alone. A store remembers such ids for a day.
	Timeless bool `json:"-"`
}

// Retryable returns whether the event says that it may be retried. If it does not
// say, the registry's entry for its code decides.
func (e *StoredEvent) Retryable() (yes, said bool) {
	yes, said = e.Details["retryable"].(bool)
	return yes, said
}

// CodeCount is how many events a code has.
type CodeCount struct {
	Code  Code  `json:"code" doc:"the code"`
	Count int64 `json:"count" doc:"how many events"`
}

// ServiceRate is how many of a service's events are worth trying again.
type ServiceRate struct {
	Service   string  `json:"service" doc:"the service"`
	Retryable int64   `json:"retryable" doc:"failures that were worth trying again"`
	Total     int64   `json:"total" doc:"all failures"`
	Percent   float64 `json:"pct" doc:"their share in percent"` // shown only: its Share
}

// Share is the retryable share in percent, with two digits behind the point as spec
// 003 has it.
func (r ServiceRate) Share() float64 {
	if r.Total == 0 {
		return 0
	}
	return math.Round(1e4*float64(r.Retryable)/float64(r.Total)) / 100
}
