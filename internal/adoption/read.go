package adoption

import (
	"context"
	"errors"

	"recoup/internal/store"
)

// read returns the rows of keys, and why rows cannot be read. One that cannot, because a
// condition of the owner fails on it, does not keep the others from being read.
func (s *Service) read(ctx context.Context, adoption int, keys []string) (rows []store.SourceRow, bad map[string]string, err error) {
	rows, err = s.Store.SourceRows(ctx, adoption, keys)
	switch {
	case err == nil || !ofRow(err):
		return rows, nil, err
	case len(keys) == 1:
		return nil, map[string]string{keys[0]: err.Error()}, nil
	}
	bad = map[string]string{}
	for _, half := range [][]string{keys[:len(keys)/2], keys[len(keys)/2:]} {
		part, broken, err := s.read(ctx, adoption, half)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, part...)
		for key, why := range broken {
			bad[key] = why
		}
	}
	return rows, bad, nil
}

// ofRow reports whether the database has failed on the values of a row.
func ofRow(err error) bool {
	var state interface{ SQLState() string }
	if !errors.As(err, &state) || len(state.SQLState()) != 5 {
		return false
	}
	switch state.SQLState()[:2] {
	case "22", "23", "38", "39", "P0": // data, constraints, functions of the owner
		return true
	}
	return false
}
