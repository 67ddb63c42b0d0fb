package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// columns gives the columns of a row their form on the wire.
func columns[R any](list []sqldb.Column[R]) []column[R] {
	coded := make([]column[R], len(list))
	for i, c := range list {
		coded[i] = columnOf(c)
	}
	return coded
}

func columnOf[R any](c sqldb.Column[R]) column[R] {
	switch c.Kind {
	case sqldb.KindText:
		return text(c.Name, c.Text)
	case sqldb.KindWord:
		return texts(c, kind{name: "text", oid: pgtype.TextOID, array: pgtype.TextArrayOID, never: true})
	case sqldb.KindJSON:
		return texts(c, jsonKind())
	case sqldb.KindID:
		return id(c.Name, c.ID)
	case sqldb.KindTime:
		return stamp(c.Name, c.Time)
	case sqldb.KindBool:
		return flag(c.Name, c.Bool)
	case sqldb.KindInt:
		return number(c.Name, c.Int)
	case sqldb.KindCount:
		return sparse(c)
	case sqldb.KindBig:
		return bigs(c)
	case sqldb.KindReal:
		return real(c)
	case sqldb.KindBytes:
		return blob(c.Name, c.Bytes)
	case sqldb.KindHash:
		return hash(c.Name, c.Hash)
	}
	return objects(c)
}

func texts[R any](c sqldb.Column[R], k kind) column[R] {
	col := text(c.Name, c.Text)
	col.kind = k
	return col
}

// sparse is a number that is NULL when it is zero.
func sparse[R any](c sqldb.Column[R]) column[R] {
	col := number(c.Name, c.Int)
	col.write = func(buf []byte, r *R) []byte {
		if n := *c.Int(r); n != 0 {
			return binary.BigEndian.AppendUint32(buf, uint32(int32(n)))
		}
		return buf
	}
	return col
}

func bigs[R any](c sqldb.Column[R]) column[R] {
	return column[R]{c.Name, bigintKind(),
		func(buf []byte, r *R) []byte { return binary.BigEndian.AppendUint64(buf, uint64(c.Number(r).Get())) },
		func(r *R, value []byte) error {
			n, err := integer(c.Name, value)
			c.Number(r).Set(n)
			return err
		},
		func(a, b *R) bool { return c.Number(a).Get() == c.Number(b).Get() }, nil,
	}
}

func real[R any](c sqldb.Column[R]) column[R] {
	return column[R]{c.Name, realKind(),
		func(buf []byte, r *R) []byte { return binary.BigEndian.AppendUint64(buf, math.Float64bits(*c.Real(r))) },
		func(r *R, value []byte) error {
			if len(value) != 8 {
				return fmt.Errorf("column %s holds no number", c.Name)
			}
			*c.Real(r) = math.Float64frombits(binary.BigEndian.Uint64(value))
			return nil
		},
		func(a, b *R) bool { return *c.Real(a) == *c.Real(b) }, nil,
	}
}

// objects are values that are stored as JSON.
func objects[R any](c sqldb.Column[R]) column[R] {
	encode := func(r *R) []byte {
		value, err := c.Object(r).Encode()
		if err != nil {
			return nil // of our own types, none fails; the database refuses the NULL
		}
		return value
	}
	return column[R]{c.Name, jsonbKind(),
		func(buf []byte, r *R) []byte {
			if value := encode(r); value != nil {
				return append(append(buf, 1), value...) // jsonb begins with its version
			}
			return buf
		},
		func(r *R, value []byte) error {
			if err := c.Object(r).Decode(value); err != nil {
				return fmt.Errorf("column %s: %w", c.Name, err)
			}
			return nil
		},
		func(a, b *R) bool { return bytes.Equal(encode(a), encode(b)) }, nil,
	}
}

// blob is bytes; none are NULL.
func blob[R any](name string, at func(*R) *[]byte) column[R] {
	return column[R]{name, byteaKind(),
		func(buf []byte, r *R) []byte { return append(buf, *at(r)...) },
		func(r *R, value []byte) error { *at(r) = bytes.Clone(value); return nil },
		func(a, b *R) bool { return bytes.Equal(*at(a), *at(b)) }, nil,
	}
}

// hash is a SHA-256.
func hash[R any](name string, at func(*R) *[32]byte) column[R] {
	return column[R]{name, byteaKind(),
		func(buf []byte, r *R) []byte { return append(buf, at(r)[:]...) },
		func(r *R, value []byte) error {
			if copy(at(r)[:], value) != len(at(r)) {
				return fmt.Errorf("column %s holds no hash", name)
			}
			return nil
		},
		func(a, b *R) bool { return *at(a) == *at(b) }, nil,
	}
}
