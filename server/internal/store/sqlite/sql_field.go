package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
)

// field is a field of a struct as something that database/sql can read into and
// write from.
type field interface {
	sql.Scanner
	driver.Valuer
}

// The kinds of fields. One at its zero value is null, but for numbers and flags,
// which are never null.
type (
	id              struct{ to *recoup.ID }
	stamp           struct{ to *time.Time } // microseconds since 1970
	text[T ~string] struct{ to *T }
	number          struct{ to *int }
	flag            struct{ to *bool }
)

// micros is how a time is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

func (f id) Value() (driver.Value, error) {
	if f.to.IsZero() {
		return nil, nil
	}
	return f.to[:], nil
}

func (f id) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*f.to = recoup.ID{}
		return nil
	case []byte:
		if len(v) == len(f.to) {
			*f.to = recoup.ID(v)
			return nil
		}
	}
	return unreadableAs(src, "an id")
}

func (f stamp) Value() (driver.Value, error) {
	if f.to.IsZero() {
		return nil, nil
	}
	return micros(*f.to), nil
}

func (f stamp) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*f.to = time.Time{}
	case int64:
		*f.to = time.UnixMicro(v).UTC()
	default:
		return unreadableAs(src, "a time")
	}
	return nil
}

func (f text[T]) Value() (driver.Value, error) {
	if *f.to == "" {
		return nil, nil
	}
	return string(*f.to), nil
}

func (f text[T]) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*f.to = ""
	case string:
		*f.to = T(v)
	default:
		return unreadableAs(src, "text")
	}
	return nil
}

func (f number) Value() (driver.Value, error) { return int64(*f.to), nil }

func (f number) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return unreadableAs(src, "a number")
	}
	*f.to = int(v)
	return nil
}

func (f flag) Value() (driver.Value, error) { return *f.to, nil }

func (f flag) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return unreadableAs(src, "yes or no")
	}
	*f.to = v != 0
	return nil
}

func unreadableAs(src any, want string) error {
	return fmt.Errorf("sqlite: a column holds a %T where %s belongs", src, want)
}
