package recoup

import (
	"math"
	"time"
)

// Event is the immutable fact that a failure happened: a row of the ledger
// (spec 003). It carries no message, no stack and no payload.
type Event struct {
	ID              ID             `json:"event_id,omitzero"`
	Code            Code           `json:"code"`
	CorrelationID   ID             `json:"correlation_id,omitzero"`
	Service         string         `json:"service"`
	Endpoint        string         `json:"endpoint,omitempty"`
	HTTPStatus      int            `json:"http_status,omitempty"`
	Tenant          string         `json:"tenant,omitempty"` // never stored: the ledger keeps its keyed hash
	Details         map[string]any `json:"details,omitempty"`
	Region          string         `json:"region,omitempty"`
	ExternalService string         `json:"external_service,omitempty"`
	TS              time.Time      `json:"ts,omitzero"`
}

// StoredEvent is an event as the ledger keeps it (spec 003): what its reporter said,
// checked and cleaned, with the keyed hash of the tenant in place of its name.
type StoredEvent struct {
	Event
	ReportedCode Code   `json:"reported_code,omitempty"` // of an unregistered code: the folded name that was sent
	TenantHash   string `json:"tenant_hash,omitempty"`
	TenantKey    string `json:"tenant_key,omitempty"` // which key made the hash

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
	Code  Code  `json:"code"`
	Count int64 `json:"count"`
}

// ServiceRate is how many of a service's events are worth trying again.
type ServiceRate struct {
	Service   string  `json:"service"`
	Retryable int64   `json:"retryable"`
	Total     int64   `json:"total"`
	Percent   float64 `json:"pct"` // shown only: its Share
}

// Share is the retryable share in percent, with two digits behind the point as spec
// 003 has it.
func (r ServiceRate) Share() float64 {
	if r.Total == 0 {
		return 0
	}
	return math.Round(1e4*float64(r.Retryable)/float64(r.Total)) / 100
}
