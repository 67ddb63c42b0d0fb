package postgres

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"recoup/internal/store"
)

// The kinds of columns that only the service's tables have.
func bigintKind() kind { return kind{name: "int8", oid: pgtype.Int8OID, array: pgtype.Int8ArrayOID} }
func byteaKind() kind  { return kind{name: "bytea", oid: pgtype.ByteaOID, array: pgtype.ByteaArrayOID} }
func realKind() kind {
	return kind{name: "float8", oid: pgtype.Float8OID, array: pgtype.Float8ArrayOID}
}
func jsonKind() kind { return kind{name: "json", oid: pgtype.JSONOID, array: pgtype.JSONArrayOID} }

func bigint[R any, T ~int64](name string, at func(*R) *T) column[R] {
	return column[R]{name, bigintKind(),
		func(buf []byte, r *R) []byte { return binary.BigEndian.AppendUint64(buf, uint64(*at(r))) },
		func(r *R, value []byte) error {
			n, err := integer(name, value)
			*at(r) = T(n)
			return err
		},
		func(a, b *R) bool { return *at(a) == *at(b) }, nil,
	}
}

// elapsed is a duration, kept in microseconds.
func elapsed[R any](name string, at func(*R) *time.Duration) column[R] {
	c := bigint(name, at)
	c.write = func(buf []byte, r *R) []byte { return binary.BigEndian.AppendUint64(buf, uint64(at(r).Microseconds())) }
	c.read = func(r *R, value []byte) error {
		n, err := integer(name, value)
		*at(r) = time.Duration(n) * time.Microsecond
		return err
	}
	return c
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

// jsonText is a JSON text that is kept as it was written.
func jsonText[R any](name string, at func(*R) *store.JSON) column[R] {
	c := text(name, at)
	c.kind = jsonKind()
	return c
}

// words is a list of texts, kept as JSON.
func words[R any](name string, at func(*R) *[]string) column[R] {
	return column[R]{name, jsonbKind(),
		func(buf []byte, r *R) []byte {
			list, err := json.Marshal(append([]string{}, *at(r)...))
			if err != nil {
				return buf // texts never fail
			}
			return append(append(buf, 1), list...) // jsonb begins with its version
		},
		func(r *R, value []byte) error {
			if err := json.Unmarshal(value, at(r)); err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
			if len(*at(r)) == 0 {
				*at(r) = nil
			}
			return nil
		},
		func(a, b *R) bool { return slices.Equal(*at(a), *at(b)) }, nil,
	}
}

// The columns of the service's tables as the hot verbs write them.
var (
	receiptColumns = columns(store.StoredReceipts.Columns)
	auditColumns   = columns(store.Audits.Written().Columns)
)
