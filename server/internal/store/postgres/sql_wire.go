package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/recoup-dev/recoup"
)

// column is one column of a record R: its name, and how a value goes into
// PostgreSQL's binary format and comes out of it. What Go calls zero (an empty
// text, an unset time or id) is NULL in the database.
//
// Batches are written as one array per column and read as raw values, because
// at hundreds of thousands of values per second the driver's general conversion
// costs more than everything else on our side.
type column[R any] struct {
	name string
	kind kind
	// write appends the value without its length; nothing appended means NULL.
	write func(buf []byte, r *R) []byte
	read  func(r *R, value []byte) error
	same  func(a, b *R) bool // to the database
	// reuse takes the value from like if it is the same there, so that a text
	// is not kept once per row; nil: not worth it.
	reuse func(r, like *R, value []byte) bool
}

// kind is a type of PostgreSQL, with the type of its arrays.
type kind struct {
	name       string
	oid, array uint32
	never      bool // NULL
}

// The kinds of columns that there are.
func textKind() kind { return kind{name: "text", oid: pgtype.TextOID, array: pgtype.TextArrayOID} }
func uuidKind() kind { return kind{name: "uuid", oid: pgtype.UUIDOID, array: pgtype.UUIDArrayOID} }
func timeKind() kind {
	return kind{name: "timestamptz", oid: pgtype.TimestamptzOID, array: pgtype.TimestamptzArrayOID}
}
func boolKind() kind  { return kind{name: "bool", oid: pgtype.BoolOID, array: pgtype.BoolArrayOID} }
func intKind() kind   { return kind{name: "int4", oid: pgtype.Int4OID, array: pgtype.Int4ArrayOID} }
func jsonbKind() kind { return kind{name: "jsonb", oid: pgtype.JSONBOID, array: pgtype.JSONBArrayOID} }

func bigintKind() kind { return kind{name: "int8", oid: pgtype.Int8OID, array: pgtype.Int8ArrayOID} }
func byteaKind() kind  { return kind{name: "bytea", oid: pgtype.ByteaOID, array: pgtype.ByteaArrayOID} }
func realKind() kind {
	return kind{name: "float8", oid: pgtype.Float8OID, array: pgtype.Float8ArrayOID}
}
func jsonKind() kind { return kind{name: "json", oid: pgtype.JSONOID, array: pgtype.JSONArrayOID} }

func kinds() []kind {
	return []kind{textKind(), uuidKind(), timeKind(), boolKind(), intKind(), jsonbKind(), bigintKind(), byteaKind(), jsonKind(), realKind()}
}

func text[R any, T ~string](name string, at func(*R) *T) column[R] {
	return column[R]{name, textKind(),
		func(buf []byte, r *R) []byte { return append(buf, *at(r)...) },
		func(r *R, value []byte) error { *at(r) = T(value); return nil },
		func(a, b *R) bool { return *at(a) == *at(b) },
		func(r, like *R, value []byte) bool {
			if string(*at(like)) != string(value) {
				return false
			}
			*at(r) = *at(like)
			return true
		},
	}
}

func id[R any](name string, at func(*R) *recoup.ID) column[R] {
	return column[R]{name, uuidKind(),
		func(buf []byte, r *R) []byte {
			if at(r).IsZero() {
				return buf
			}
			return append(buf, at(r)[:]...)
		},
		func(r *R, value []byte) error {
			if copy(at(r)[:], value) != len(recoup.ID{}) {
				return fmt.Errorf("column %s holds no id", name)
			}
			return nil
		},
		func(a, b *R) bool { return *at(a) == *at(b) }, nil,
	}
}

// epoch is the zero of PostgreSQL's timestamps, in Unix microseconds.
const epoch = 946_684_800_000_000

// stamp is a time, kept to the microsecond. The "infinity" that a person may
// have written by plain SQL is no time that ever comes: unset.
func stamp[R any](name string, at func(*R) *time.Time) column[R] {
	return column[R]{name, timeKind(),
		func(buf []byte, r *R) []byte {
			if at(r).IsZero() {
				return buf
			}
			return binary.BigEndian.AppendUint64(buf, uint64(at(r).UnixMicro()-epoch))
		},
		func(r *R, value []byte) error {
			n, err := integer(name, value)
			if err == nil && n != math.MaxInt64 && n != math.MinInt64 {
				*at(r) = time.UnixMicro(n + epoch).UTC()
			}
			return err
		},
		func(a, b *R) bool { return at(a).UnixMicro() == at(b).UnixMicro() }, nil,
	}
}

func flag[R any](name string, at func(*R) *bool) column[R] {
	return column[R]{name, boolKind(),
		func(buf []byte, r *R) []byte {
			if *at(r) {
				return append(buf, 1)
			}
			return append(buf, 0)
		},
		func(r *R, value []byte) error { *at(r) = len(value) == 1 && value[0] == 1; return nil },
		func(a, b *R) bool { return *at(a) == *at(b) }, nil,
	}
}

func number[R any](name string, at func(*R) *int) column[R] {
	return column[R]{name, intKind(),
		func(buf []byte, r *R) []byte { return binary.BigEndian.AppendUint32(buf, uint32(int32(*at(r)))) },
		func(r *R, value []byte) error {
			n, err := integer(name, value)
			*at(r) = int(n)
			return err
		},
		func(a, b *R) bool { return *at(a) == *at(b) }, nil,
	}
}

// integer reads an integer of any width.
func integer(name string, value []byte) (int64, error) {
	switch len(value) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(value))), nil
	case 4:
		return int64(int32(binary.BigEndian.Uint32(value))), nil
	case 8:
		return int64(binary.BigEndian.Uint64(value)), nil
	}
	return 0, fmt.Errorf("column %s holds no integer", name)
}

// elements returns the values of an array, nil for NULL.
func elements(array []byte) (list [][]byte) {
	const head = 20 // dimensions, has nulls, type, length, first index
	if len(array) < head {
		return nil
	}
	list, array = make([][]byte, 0, binary.BigEndian.Uint32(array[12:])), array[head:]
	for len(array) >= 4 {
		n := int(int32(binary.BigEndian.Uint32(array)))
		if array = array[4:]; n < 0 {
			list = append(list, nil)
			continue
		}
		list, array = append(list, array[:n:n]), array[n:]
	}
	return list
}

// identity is an id, or none for NULL.
func identity(value []byte) (id recoup.ID) {
	copy(id[:], value)
	return id
}

// decode reads a row whose first values are the columns.
func decode[R any](columns []column[R]) pgx.RowToFunc[R] {
	var last R
	return func(row pgx.CollectableRow) (r R, err error) {
		for i, value := range row.RawValues()[:len(columns)] {
			c := &columns[i]
			if value == nil || c.reuse != nil && c.reuse(&r, &last, value) {
				continue
			}
			if err := c.read(&r, value); err != nil {
				return r, err
			}
		}
		last = r
		return r, nil
	}
}

// encoded is a parameter in PostgreSQL's binary format.
type encoded []byte

// one returns the value of a record as a parameter, or nil for NULL.
func (c *column[R]) one(r *R) any {
	if value := c.write([]byte{}, r); len(value) > 0 || c.kind.never {
		return encoded(value)
	}
	return nil
}

// all returns the values of all records as an array.
func (c *column[R]) all(records []*R) any {
	buf := make([]byte, 0, 20+len(records)*24)
	for _, n := range []uint32{1, 1, c.kind.oid, uint32(len(records)), 1} { // dimensions, has nulls, type, length, first index
		buf = binary.BigEndian.AppendUint32(buf, n)
	}
	for _, r := range records {
		start := len(buf)
		buf = c.write(append(buf, 0, 0, 0, 0), r)
		length := uint32(len(buf) - start - 4)
		if length == 0 && !c.kind.never {
			length = math.MaxUint32 // NULL
		}
		binary.BigEndian.PutUint32(buf[start:], length)
	}
	return encoded(buf)
}

// passing lets parameters that are encoded already pass through a codec.
type passing struct {
	pgtype.Codec
	skip int // bytes that the codec's own format does not have
}

func (c passing) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(encoded); ok && format == c.PreferredFormat() {
		return c
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

// Encode appends a parameter.
func (c passing) Encode(value any, buf []byte) ([]byte, error) {
	bytes, ok := value.(encoded)
	if !ok {
		return nil, fmt.Errorf("%T is not encoded", value)
	}
	return append(buf, bytes[c.skip:]...), nil
}

// acceptEncoded teaches a connection to take encoded parameters. Of a text, the
// binary format is the text; JSON goes as text, without the version before it.
func acceptEncoded(m *pgtype.Map) {
	for _, k := range kinds() {
		for _, oid := range []uint32{k.oid, k.array} {
			t, ok := m.TypeForOID(oid)
			if !ok {
				continue
			}
			skip := 0
			if oid == pgtype.JSONBOID {
				skip = 1
			}
			m.RegisterType(&pgtype.Type{Name: t.Name, OID: t.OID, Codec: passing{t.Codec, skip}})
		}
	}
}
