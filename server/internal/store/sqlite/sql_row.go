package sqlite

import (
	"bytes"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// value is what a column of a record is in the file.
func value[R any](c *sqldb.Column[R], r *R) (any, error) {
	switch c.Kind {
	case sqldb.KindText, sqldb.KindJSON, sqldb.KindWord:
		if s := *c.Text(r); s != "" || c.Kind == sqldb.KindWord {
			return s, nil
		}
	case sqldb.KindID:
		if id := c.ID(r); !id.IsZero() {
			return id[:], nil
		}
	case sqldb.KindTime:
		if t := c.Time(r); !t.IsZero() {
			return micros(*t), nil
		}
	case sqldb.KindBool:
		return *c.Bool(r), nil
	case sqldb.KindInt, sqldb.KindCount:
		if n := *c.Int(r); n != 0 || c.Kind == sqldb.KindInt {
			return int64(n), nil
		}
	case sqldb.KindBig:
		return c.Number(r).Get(), nil
	case sqldb.KindReal:
		return *c.Real(r), nil
	case sqldb.KindBytes:
		if b := *c.Bytes(r); len(b) > 0 {
			return b, nil
		}
	case sqldb.KindHash:
		return c.Hash(r)[:], nil
	case sqldb.KindObject:
		b, err := c.Object(r).Encode()
		if b != nil {
			return string(b), err
		}
		return nil, err
	}
	return nil, nil
}

// values are those of all columns of a record.
func values[R any](columns []sqldb.Column[R], r *R) ([]any, error) {
	list := make([]any, len(columns))
	for i := range columns {
		v, err := value(&columns[i], r)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// read takes up what the file has in a column, unless it is null.
func read[R any](c *sqldb.Column[R], r *R, src any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		switch c.Kind {
		case sqldb.KindText, sqldb.KindWord, sqldb.KindJSON:
			*c.Text(r) = v
			return nil
		case sqldb.KindObject:
			return c.Object(r).Decode([]byte(v))
		}
	case int64:
		switch c.Kind {
		case sqldb.KindInt, sqldb.KindCount:
			*c.Int(r) = int(v)
			return nil
		case sqldb.KindBig:
			c.Number(r).Set(v)
			return nil
		case sqldb.KindTime:
			*c.Time(r) = time.UnixMicro(v).UTC()
			return nil
		case sqldb.KindBool:
			*c.Bool(r) = v != 0
			return nil
		}
	case float64:
		if c.Kind == sqldb.KindReal {
			*c.Real(r) = v
			return nil
		}
	case []byte:
		return readBytes(c, r, v)
	}
	return unreadable(c, src)
}

func readBytes[R any](c *sqldb.Column[R], r *R, v []byte) error {
	switch {
	case c.Kind == sqldb.KindBytes:
		*c.Bytes(r) = bytes.Clone(v)
	case c.Kind == sqldb.KindID && len(v) == len(recoup.ID{}):
		*c.ID(r) = recoup.ID(v)
	case c.Kind == sqldb.KindHash && len(v) == len(c.Hash(r)):
		*c.Hash(r) = [32]byte(v)
	default:
		return unreadable(c, v)
	}
	return nil
}

func unreadable[R any](c *sqldb.Column[R], src any) error {
	return fmt.Errorf("sqlite: the column %s holds a %T where %v belongs", c.Name, src, c.Kind)
}

// cell is a value as the driver has it, until the next row.
type cell struct{ value any }

// Scan implements sql.Scanner.
func (c *cell) Scan(src any) error {
	c.value = src
	return nil
}
