package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Event is a row of the ledger. A store ignores Tenant.
type Event = recoup.StoredEvent

// Events describes the rows of events, but for the day, which the database computes.
var Events = sqldb.Table[Event]{Name: "recoup.error_event", Columns: []sqldb.Column[Event]{
	sqldb.ID("event_id", func(e *Event) *recoup.ID { return &e.ID }).Key(),
	sqldb.Text("code", func(e *Event) *string { return (*string)(&e.Code) }),
	sqldb.ID("correlation_id", func(e *Event) *recoup.ID { return &e.CorrelationID }),
	sqldb.Text("service", func(e *Event) *string { return &e.Service }),
	sqldb.Text("endpoint", func(e *Event) *string { return &e.Endpoint }),
	sqldb.Count("http_status", func(e *Event) *int { return &e.HTTPStatus }),
	sqldb.Text("tenant_hash", func(e *Event) *string { return &e.TenantHash }),
	sqldb.Own("details", func(e *Event) sqldb.Object { return detailsAt{&e.Details} }),
	sqldb.Text("region", func(e *Event) *string { return &e.Region }),
	sqldb.Time("ts", func(e *Event) *time.Time { return &e.TS }).Key(),
	sqldb.Text("external_service", func(e *Event) *string { return &e.ExternalService }),
	sqldb.Text("reported_code", func(e *Event) *string { return (*string)(&e.ReportedCode) }),
	sqldb.Text("tenant_key", func(e *Event) *string { return &e.TenantKey }),
}}

type detailsAt struct{ to *map[string]any }

func (d detailsAt) Encode() ([]byte, error) { return EncodeDetails(*d.to), nil }

func (d detailsAt) Decode(value []byte) (err error) {
	*d.to, err = DecodeDetails(value)
	return err
}

// EventIDsKept is how long ids that carry no time are remembered.
const EventIDsKept = 24 * time.Hour

// EventFilter selects events. Empty fields do not restrict; all that are set
// must hold.
type EventFilter struct {
	Correlation recoup.ID
	Service     string
	Code        recoup.Code
	Tenants     []string  // hashes of one tenant, one per key; none: any tenant
	From, To    time.Time // happened in [From, To)
}

// DailyFilter selects counts per day. Empty fields do not restrict.
type DailyFilter struct {
	Service string
	Code    recoup.Code
}

// RecentCount is how many events a code has that name a provider, or none.
type RecentCount struct {
	Code            recoup.Code `json:"code"`
	ExternalService string      `json:"external_service,omitempty"`
	N               int64       `json:"n"`
}

// DailyCount is a row of spec 003's error_aggregate_daily.
type DailyCount struct {
	Day       time.Time   `json:"day"` // midnight, UTC
	Service   string      `json:"service"`
	Code      recoup.Code `json:"code"`
	Count     int64       `json:"count"`
	Retryable int64       `json:"retryable_count"`
	LastSeen  time.Time   `json:"last_seen_at"`
}

// Drop is how much was left out of the ledger on a day, and why.
type Drop struct {
	Day    time.Time `json:"day"` // midnight, UTC
	Reason string    `json:"reason"`
	N      int64     `json:"n"`
}

// Retention says how far back counts go. What is older may be purged.
type Retention struct {
	Hourly time.Time // as far as events: hours that begin before are not needed
	Daily  time.Time // days before this one are not needed
}

// Span is a stretch of time, from its beginning to before its end.
type Span struct{ From, To time.Time }

// Hours cuts a span into the whole hours in it, which are counted already, and
// what is left at its edges, where events must be counted. A span without a
// whole hour is all head.
func (s Span) Hours() (head, whole, tail Span) {
	first, end := Hour(s.From), Hour(s.To)
	if first.Before(s.From) {
		first = first.Add(time.Hour)
	}
	if !first.Before(end) {
		return s, Span{s.To, s.To}, Span{s.To, s.To}
	}
	return Span{s.From, first}, Span{first, end}, Span{end, s.To}
}

// Hour returns the beginning of the hour, in UTC.
func Hour(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }

// Day returns the beginning of the day, in UTC.
func Day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Month returns the beginning of the month, in UTC.
func Month(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// EncodeDetails returns the details of an event as JSON, or nothing if there
// are none. What cannot be JSON becomes null, which no store accepts.
func EncodeDetails(details map[string]any) []byte {
	if len(details) == 0 {
		return nil
	}
	return AppendDetails(make([]byte, 0, 32*len(details)), details)
}

// AppendDetails is [EncodeDetails] behind what is there.
func AppendDetails(b []byte, details map[string]any) []byte {
	if len(details) == 0 {
		return b
	}
	b, plain := appendPlainDetails(b, details)
	if plain {
		return b
	}
	text, err := json.Marshal(details)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

// DecodeDetails reads what EncodeDetails wrote; whole numbers are int64 again.
func DecodeDetails(b []byte) (map[string]any, error) {
	var details map[string]any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&details); err != nil {
		return nil, fmt.Errorf("details of an event: %w", err)
	}
	for key, value := range details {
		number, ok := value.(json.Number)
		if !ok {
			continue
		}
		if whole, err := number.Int64(); err == nil {
			details[key] = whole
		}
	}
	return details, nil
}

// Chunks cuts the events of a bulk load into chunks of at most size. An event that
// is not in the span ends them with ErrRefused. A chunk is valid until the next.
func Chunks(span Span, events iter.Seq[Event], size int) iter.Seq2[[]Event, error] {
	return func(yield func([]Event, error) bool) {
		chunk := make([]Event, 0, size)
		for e := range events {
			if e.TS.Before(span.From) || !e.TS.Before(span.To) {
				yield(nil, fmt.Errorf("%w: %v is not between %v and %v", ErrRefused, e.TS, span.From, span.To))
				return
			}
			if chunk = append(chunk, e); len(chunk) == size {
				if !yield(chunk, nil) {
					return
				}
				chunk = chunk[:0]
			}
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}

// HourCount is how much there was in an hour.
type HourCount struct {
	Hour time.Time
	N    int64
}
