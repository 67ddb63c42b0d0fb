package adoption

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// maxCause is how many bytes are kept of why a row cannot be read.
	maxCause = 300

	// maxKey is how many bytes the text of a key may have. An index holds 2,704 at most, of a
	// pair's number and key, unless they happen to be compressible.
	maxKey = 2600
)

// tooLong adds rows whose keys no pair can have to those that cannot be read.
func tooLong(rows []SourceRow, bad map[string]string) map[string]string {
	for i := range rows {
		if key := rows[i].Key; len(key) > maxKey {
			if bad == nil {
				bad = map[string]string{}
			}
			bad[key] = fmt.Sprintf("its key has %d bytes, and %d are the most", len(key), maxKey)
		}
	}
	return bad
}

// listed is a key as it is listed among those of rows that cannot be read.
func listed(key string) string {
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s…%x", strings.ToValidUTF8(key[:32], ""), sum[:8])
}

// reading is rows of a source, and why others cannot be read.
type reading struct {
	keys int // how many were read, the first: fewer than asked for if the time of the turn is over
	rows []SourceRow
	bad  map[string]string
}

// read returns the rows of keys, and why rows cannot be read. One that cannot, because a
// condition of the owner fails on it, does not keep the others from being read.
func (s *Service) read(ctx context.Context, a *Target, st *state, keys []string) (r reading, err error) {
	r.rows, err = s.Store.SourceRows(ctx, a.ID, keys, s.rules(a))
	cause, ofRow := rowFault(err)
	switch {
	case !ofRow:
		r.keys = len(keys)
		return r, err
	case len(keys) == 1:
		return reading{keys: 1, bad: map[string]string{keys[0]: cause}}, nil
	}
	r = reading{bad: map[string]string{}}
	for _, half := range [][]string{keys[:len(keys)/2], keys[len(keys)/2:]} {
		if s.spent(st) {
			return r, nil
		}
		part, err := s.read(ctx, a, st, half)
		if err != nil {
			return reading{}, err
		}
		r.rows = append(r.rows, part.rows...)
		maps.Copy(r.bad, part.bad)
		if r.keys += part.keys; part.keys < len(half) {
			return r, nil
		}
	}
	return r, nil
}

// noteUnreadable notes which rows of a batch cannot be read, and logs them. Most
// adoptions have none, and never had.
func (s *Service) noteUnreadable(ctx context.Context, a *Target, turn Lease, b batch) error {
	if len(b.bad) == 0 && !a.Bad {
		return nil
	}
	bad := make([]Unreadable, 0, len(b.bad))
	for _, key := range slices.Sorted(maps.Keys(b.bad)) {
		cause, _ := s.Redactor.String(b.bad[key])
		bad = append(bad, Unreadable{Key: listed(key), Cause: strings.ToValidUTF8(cause[:min(len(cause), maxCause)], "")})
		s.Logger.Warn("row of an adopted table cannot be read; it will be looked at again when it changes", "table", a.Source, "key", listed(key), "cause", cause)
	}
	a.Bad = a.Bad || len(bad) > 0
	keys := make([]string, len(b.keys))
	for i, key := range b.keys {
		keys[i] = listed(key)
	}
	return s.Store.SaveUnreadable(ctx, turn, keys, bad)
}

// rowFault reports whether the database has failed on the values of a row, and what it
// says of it.
func rowFault(err error) (cause string, ofRow bool) {
	var said interface {
		SQLState() string
		Said() string
	}
	if !errors.As(err, &said) || len(said.SQLState()) != 5 {
		return "", false
	}
	switch said.SQLState()[:2] {
	case "22", "23", "38", "39", "P0": // data, constraints, functions of the owner
		return said.Said(), true
	}
	return "", false
}
