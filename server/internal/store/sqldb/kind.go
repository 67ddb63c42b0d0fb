package sqldb

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
)

// Numberer reads and writes a whole number in a row.
type Numberer interface {
	Get() int64
	Set(int64)
}

// Object encodes a value of a row as JSON and decodes it.
type Object interface {
	Encode() ([]byte, error) // nil: NULL
	Decode(value []byte) error
}

type numberAt struct{ to *int64 }

func (n numberAt) Get() int64  { return *n.to }
func (n numberAt) Set(v int64) { *n.to = v }

type microsAt struct{ to *time.Duration }

func (m microsAt) Get() int64  { return m.to.Microseconds() }
func (m microsAt) Set(v int64) { *m.to = time.Duration(v) * time.Microsecond }

type objectAt[T comparable] struct{ to *T }

func (o objectAt[T]) Encode() ([]byte, error) {
	var zero T
	if *o.to == zero {
		return nil, nil
	}
	return json.Marshal(o.to)
}

func (o objectAt[T]) Decode(value []byte) error { return json.Unmarshal(value, o.to) }

type listAt[T any] struct{ to *[]T }

func (l listAt[T]) Encode() ([]byte, error) { return json.Marshal(append([]T{}, *l.to...)) }

func (l listAt[T]) Decode(value []byte) error {
	if err := json.Unmarshal(value, l.to); err != nil || len(*l.to) > 0 {
		return err
	}
	*l.to = nil
	return nil
}

// Text describes a text. Empty is NULL.
func Text[R any](name string, at func(*R) *string) Column[R] {
	return Column[R]{Name: name, Kind: KindText, Text: at}
}

// Word describes a text that is never NULL.
func Word[R any](name string, at func(*R) *string) Column[R] {
	return Text(name, at).of(KindWord)
}

// JSON describes a JSON text that is stored unchanged.
func JSON[R any](name string, at func(*R) *string) Column[R] {
	return Text(name, at).of(KindJSON)
}

func (c Column[R]) of(kind Kind) Column[R] {
	c.Kind = kind
	return c
}

// ID describes an id.
func ID[R any](name string, at func(*R) *recoup.ID) Column[R] {
	return Column[R]{Name: name, Kind: KindID, ID: at}
}

// Time describes a time, stored in microseconds.
func Time[R any](name string, at func(*R) *time.Time) Column[R] {
	return Column[R]{Name: name, Kind: KindTime, Time: at}
}

// Bool describes a boolean.
func Bool[R any](name string, at func(*R) *bool) Column[R] {
	return Column[R]{Name: name, Kind: KindBool, Bool: at}
}

// Int describes a number of 32 bits.
func Int[R any](name string, at func(*R) *int) Column[R] {
	return Column[R]{Name: name, Kind: KindInt, Int: at}
}

// Count describes a number of 32 bits. Zero is NULL.
func Count[R any](name string, at func(*R) *int) Column[R] { return Int(name, at).of(KindCount) }

// Big describes a number of 64 bits.
func Big[R any](name string, at func(*R) *int64) Column[R] {
	return Column[R]{Name: name, Kind: KindBig, Number: func(r *R) Numberer { return numberAt{at(r)} }}
}

// Micros describes a duration, stored in microseconds.
func Micros[R any](name string, at func(*R) *time.Duration) Column[R] {
	return Column[R]{Name: name, Kind: KindBig, Number: func(r *R) Numberer { return microsAt{at(r)} }}
}

// Real describes a floating-point number.
func Real[R any](name string, at func(*R) *float64) Column[R] {
	return Column[R]{Name: name, Kind: KindReal, Real: at}
}

// Bytes describes bytes. Empty is NULL.
func Bytes[R any](name string, at func(*R) *[]byte) Column[R] {
	return Column[R]{Name: name, Kind: KindBytes, Bytes: at}
}

// Hash describes a SHA-256.
func Hash[R any](name string, at func(*R) *[32]byte) Column[R] {
	return Column[R]{Name: name, Kind: KindHash, Hash: at}
}

// JSONOf describes a value that is stored as JSON. The zero value is NULL.
func JSONOf[R any, T comparable](name string, at func(*R) *T) Column[R] {
	return Own(name, func(r *R) Object { return objectAt[T]{at(r)} })
}

// List describes a list that is stored as JSON. It is never NULL.
func List[R, T any](name string, at func(*R) *[]T) Column[R] {
	return Own(name, func(r *R) Object { return listAt[T]{at(r)} })
}

// Own describes a value that is stored as JSON by its own encoding.
func Own[R any](name string, at func(*R) Object) Column[R] {
	return Column[R]{Name: name, Kind: KindObject, Object: at}
}

// Read describes JSON that is only read.
func Read[R any](name string, into func(*R) any) Column[R] {
	return Own(name, func(r *R) Object { return readOnly{into(r)} })
}

type readOnly struct{ into any }

func (readOnly) Encode() ([]byte, error)     { return nil, nil }
func (o readOnly) Decode(value []byte) error { return json.Unmarshal(value, o.into) }

// Fields describes rows that are only read, by pointers to their fields in the order of
// the columns.
//
//	sqldb.Fields(func(c *CodeCount) []any { return []any{(*string)(&c.Code), &c.Count} })
func Fields[R any](places func(*R) []any) []Column[R] {
	list := make([]Column[R], 0, 8)
	for i, place := range places(new(R)) {
		name := "column " + strconv.Itoa(i+1)
		switch place.(type) {
		case *string:
			list = append(list, Text(name, nth[*string](places, i)))
		case *recoup.ID:
			list = append(list, ID(name, nth[*recoup.ID](places, i)))
		case *time.Time:
			list = append(list, Time(name, nth[*time.Time](places, i)))
		case *time.Duration:
			list = append(list, Micros(name, nth[*time.Duration](places, i)))
		case *int:
			list = append(list, Int(name, nth[*int](places, i)))
		case *int64:
			list = append(list, Big(name, nth[*int64](places, i)))
		default:
			panic(fmt.Sprintf("sqldb: %s: %T is not described by its place alone", name, place))
		}
	}
	return list
}

func nth[T, R any](places func(*R) []any, i int) func(*R) T {
	return func(r *R) T {
		place, _ := places(r)[i].(T)
		return place
	}
}

// String returns the name of a kind for errors.
func (k Kind) String() string {
	if names := [...]string{"a text", "a text", "JSON", "an id", "a time", "yes or no", "a number", "a number", "a number",
		"a number", "bytes", "a hash", "JSON"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
