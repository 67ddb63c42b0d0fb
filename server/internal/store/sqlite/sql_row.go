package sqlite

import (
	"bytes"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/row"
)

// value is what a column of a record is in the file.
func value[R any](c *row.Column[R], r *R) (any, error) {
	switch c.Kind {
	case row.KindText, row.KindJSON, row.KindWord:
		if s := *c.Text(r); s != "" || c.Kind == row.KindWord {
			return s, nil
		}
	case row.KindID:
		if id := c.ID(r); !id.IsZero() {
			return id[:], nil
		}
	case row.KindTime:
		if t := c.Time(r); !t.IsZero() {
			return micros(*t), nil
		}
	case row.KindBool:
		return *c.Bool(r), nil
	case row.KindInt, row.KindCount:
		if n := *c.Int(r); n != 0 || c.Kind == row.KindInt {
			return int64(n), nil
		}
	case row.KindBig:
		return c.Number(r).Get(), nil
	case row.KindReal:
		return *c.Real(r), nil
	case row.KindBytes:
		if b := *c.Bytes(r); len(b) > 0 {
			return b, nil
		}
	case row.KindHash:
		return c.Hash(r)[:], nil
	case row.KindObject:
		b, err := c.Object(r).Encode()
		if b != nil {
			return string(b), err
		}
		return nil, err
	}
	return nil, nil
}

// values are those of all columns of a record.
func values[R any](columns []row.Column[R], r *R) ([]any, error) {
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
func read[R any](c *row.Column[R], r *R, src any) error {
	switch v := src.(type) {
	case nil:
		return nil
	case string:
		switch c.Kind {
		case row.KindText, row.KindWord, row.KindJSON:
			*c.Text(r) = v
			return nil
		case row.KindObject:
			return c.Object(r).Decode([]byte(v))
		}
	case int64:
		switch c.Kind {
		case row.KindInt, row.KindCount:
			*c.Int(r) = int(v)
			return nil
		case row.KindBig:
			c.Number(r).Set(v)
			return nil
		case row.KindTime:
			*c.Time(r) = time.UnixMicro(v).UTC()
			return nil
		case row.KindBool:
			*c.Bool(r) = v != 0
			return nil
		}
	case float64:
		if c.Kind == row.KindReal {
			*c.Real(r) = v
			return nil
		}
	case []byte:
		return readBytes(c, r, v)
	}
	return unreadable(c, src)
}

func readBytes[R any](c *row.Column[R], r *R, v []byte) error {
	switch {
	case c.Kind == row.KindBytes:
		*c.Bytes(r) = bytes.Clone(v)
	case c.Kind == row.KindID && len(v) == len(recoup.ID{}):
		*c.ID(r) = recoup.ID(v)
	case c.Kind == row.KindHash && len(v) == len(c.Hash(r)):
		*c.Hash(r) = [32]byte(v)
	default:
		return unreadable(c, v)
	}
	return nil
}

func unreadable[R any](c *row.Column[R], src any) error {
	return fmt.Errorf("sqlite: the column %s holds a %T where %v belongs", c.Name, src, c.Kind)
}

// cell is a value as the driver has it, until the next row.
type cell struct{ value any }

// Scan implements sql.Scanner.
func (c *cell) Scan(src any) error {
	c.value = src
	return nil
}
