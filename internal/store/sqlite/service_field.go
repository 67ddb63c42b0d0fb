package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"time"
)

// The kinds of fields that only the service's tables have.
type (
	bigint  struct{ to *int64 }
	elapsed struct{ to *time.Duration } // microseconds
	blob    struct{ to *[]byte }        // none are null
	hash    struct{ to *[32]byte }
	words   struct{ to *[]string } // JSON
)

func (f bigint) Value() (driver.Value, error) { return *f.to, nil }

func (f bigint) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return unreadableAs(src, "a number")
	}
	*f.to = v
	return nil
}

func (f elapsed) Value() (driver.Value, error) { return f.to.Microseconds(), nil }

func (f elapsed) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return unreadableAs(src, "a duration")
	}
	*f.to = time.Duration(v) * time.Microsecond
	return nil
}

func (f blob) Value() (driver.Value, error) {
	if len(*f.to) == 0 {
		return nil, nil
	}
	return *f.to, nil
}

func (f blob) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*f.to = nil
	case []byte:
		*f.to = bytes.Clone(v)
	default:
		return unreadableAs(src, "bytes")
	}
	return nil
}

func (f hash) Value() (driver.Value, error) { return f.to[:], nil }

func (f hash) Scan(src any) error {
	v, ok := src.([]byte)
	if !ok || len(v) != len(f.to) {
		return unreadableAs(src, "a hash")
	}
	*f.to = [32]byte(v)
	return nil
}

func (f words) Value() (driver.Value, error) {
	b, err := json.Marshal(append([]string{}, *f.to...))
	return string(b), err
}

func (f words) Scan(src any) error {
	v, ok := src.(string)
	if !ok {
		return unreadableAs(src, "a list")
	}
	if *f.to = nil; v == "[]" {
		return nil
	}
	return json.Unmarshal([]byte(v), f.to)
}
