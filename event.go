package recoup

import "time"

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
