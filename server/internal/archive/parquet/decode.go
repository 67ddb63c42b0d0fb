package parquet

import (
	"encoding/binary"
	"fmt"
)

// decode reads the body of a data page of n rows.
func (c *Column) decode(body []byte, n int, encoding int64, entries []string) (v Values, err error) {
	there := n
	if c.Optional {
		if body, err = v.missing(body, n); err != nil {
			return v, err
		}
		for _, no := range v.Missing {
			if no {
				there--
			}
		}
	}
	switch {
	case c.Kind == UUID:
		err = v.uuids(body, there)
	case c.Kind == Time:
		err = v.numbers(body, there, 8)
	case c.Kind == Int:
		err = v.numbers(body, there, 4)
	case encoding == encodingDictionary:
		err = v.indexed(body, there, entries)
	default:
		v.Texts, err = readTexts(body, int64(there))
	}
	if err != nil {
		return Values{}, err
	}
	v.spread(c.Kind)
	return v, nil
}

// missing reads which values are missing, and returns what comes after it.
func (v *Values) missing(body []byte, n int) ([]byte, error) {
	if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
		return nil, fmt.Errorf("%w: a page ends early", ErrDamaged)
	}
	size := 4 + binary.LittleEndian.Uint32(body)
	present, err := readRuns(body[4:size], n, 1, 2)
	if err != nil {
		return nil, err
	}
	v.Missing = make([]bool, n)
	for i, yes := range present {
		v.Missing[i] = yes == 0
	}
	return body[size:], nil
}

func (v *Values) uuids(body []byte, n int) error {
	if len(body) != 16*n {
		return fmt.Errorf("%w: %d bytes for %d ids", ErrDamaged, len(body), n)
	}
	v.UUIDs = make([][16]byte, n)
	for i := range v.UUIDs {
		copy(v.UUIDs[i][:], body[16*i:])
	}
	return nil
}

func (v *Values) numbers(body []byte, n, size int) error {
	if len(body) != size*n {
		return fmt.Errorf("%w: %d bytes for %d numbers", ErrDamaged, len(body), n)
	}
	v.Numbers = make([]int64, n)
	for i := range v.Numbers {
		if size == 4 {
			v.Numbers[i] = int64(int32(binary.LittleEndian.Uint32(body[4*i:])))
		} else {
			v.Numbers[i] = int64(binary.LittleEndian.Uint64(body[8*i:]))
		}
	}
	return nil
}

func (v *Values) indexed(body []byte, n int, entries []string) error {
	if len(body) == 0 || body[0] == 0 || body[0] > 31 {
		return fmt.Errorf("%w: a page has no indexes", ErrDamaged)
	}
	indexes, err := readRuns(body[1:], n, int(body[0]), uint32(len(entries)))
	if err != nil {
		return err
	}
	v.Texts = make([]string, n)
	for i, at := range indexes {
		v.Texts[i] = entries[at]
	}
	return nil
}

// spread moves the values to their rows, with gaps where values are missing.
func (v *Values) spread(k Kind) {
	switch {
	case v.Missing == nil:
	case k == UUID:
		v.UUIDs = spread(v.UUIDs, v.Missing)
	case k.dictionary():
		v.Texts = spread(v.Texts, v.Missing)
	default:
		v.Numbers = spread(v.Numbers, v.Missing)
	}
}

func spread[T any](values []T, missing []bool) []T {
	out := make([]T, len(missing))
	for i, no := range missing {
		if !no {
			out[i], values = values[0], values[1:]
		}
	}
	return out
}
