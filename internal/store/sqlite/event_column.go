package sqlite

import (
	"database/sql/driver"
	"strings"

	"recoup"
	"recoup/internal/store"
)

// eventColumns are the columns of error_event but day, which SQLite computes.
var eventColumns = []struct {
	name  string
	field func(*store.Event) field
}{
	{"event_id", func(e *store.Event) field { return id{&e.ID} }},
	{"code", func(e *store.Event) field { return text[recoup.Code]{&e.Code} }},
	{"correlation_id", func(e *store.Event) field { return id{&e.CorrelationID} }},
	{"service", func(e *store.Event) field { return text[string]{&e.Service} }},
	{"endpoint", func(e *store.Event) field { return text[string]{&e.Endpoint} }},
	{"http_status", func(e *store.Event) field { return optionalNumber{&e.HTTPStatus} }},
	{"tenant_hash", func(e *store.Event) field { return text[string]{&e.TenantHash} }},
	{"details", func(e *store.Event) field { return details{&e.Details} }},
	{"region", func(e *store.Event) field { return text[string]{&e.Region} }},
	{"ts", func(e *store.Event) field { return stamp{&e.TS} }},
	{"external_service", func(e *store.Event) field { return text[string]{&e.ExternalService} }},
	{"reported_code", func(e *store.Event) field { return text[recoup.Code]{&e.ReportedCode} }},
	{"tenant_key", func(e *store.Event) field { return text[string]{&e.TenantKey} }},
}

// Kinds of fields that only events have: a number that is null when it is zero,
// and a small map, kept as JSON.
type (
	optionalNumber struct{ to *int }
	details        struct{ to *map[string]any }
)

func (f optionalNumber) Value() (driver.Value, error) {
	if *f.to == 0 {
		return nil, nil
	}
	return int64(*f.to), nil
}

func (f optionalNumber) Scan(src any) error {
	if src == nil {
		*f.to = 0
		return nil
	}
	return number(f).Scan(src)
}

func (f details) Value() (driver.Value, error) {
	if b := store.EncodeDetails(*f.to); b != nil {
		return string(b), nil
	}
	return nil, nil
}

func (f details) Scan(src any) (err error) {
	switch v := src.(type) {
	case nil:
		*f.to = nil
		return nil
	case string:
		*f.to, err = store.DecodeDetails([]byte(v))
		return err
	}
	return unreadableAs(src, "details")
}

func eventNames() string {
	list := make([]string, len(eventColumns))
	for i, c := range eventColumns {
		list[i] = c.name
	}
	return strings.Join(list, ", ")
}

// eventFields appends the fields of an event in the order of the columns.
func eventFields(to []any, e *store.Event) []any {
	for _, c := range eventColumns {
		to = append(to, c.field(e))
	}
	return to
}
