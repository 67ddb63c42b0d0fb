package api

import (
	"bytes"
	"encoding/json"
)

// object reads an object that is depth deep in the document.
func (e *examiner) object(s *shape, depth int) error {
	if e.next() == '}' {
		e.i++
		return nil
	}
	var seen members
	for n := 1; ; n++ {
		name, err := e.name()
		if err != nil {
			return err
		}
		if s.form != record {
			if err := e.count(s, depth, n); err != nil {
				return err
			}
		}
		e.path[depth] = place{name: name}
		inside, err := e.member(s, depth, &seen)
		if err != nil {
			return err
		}
		if err := e.value(inside, depth+1); err != nil {
			return err
		}
		if more, err := e.more('}'); !more || err != nil {
			return err
		}
	}
}

// name reads the name of a member, and the colon.
func (e *examiner) name() ([]byte, error) {
	if e.next() != '"' {
		return nil, errBroken
	}
	name, err := e.text()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		var plain string
		if json.Unmarshal([]byte(`"`+string(name)+`"`), &plain) != nil {
			return nil, errBroken
		}
		name = []byte(plain)
	}
	if e.next() != ':' {
		return nil, errBroken
	}
	e.i++
	return name, nil
}

// members are those of an object that came already, by their bits.
type members [maxMembers / 64]uint64

// maxMembers is how many fields a body may have.
const maxMembers = 128

func (m *members) add(i int) (again bool) {
	bit := uint64(1) << (i % 64)
	again = m[i/64]&bit != 0
	m[i/64] |= bit
	return again
}

// member returns the shape of what follows the name that was read last. Where any
// name will do, one that comes twice is the caller's own affair.
func (e *examiner) member(s *shape, depth int, seen *members) (*shape, error) {
	switch s.form {
	case dictionary:
		return s.items, nil
	case record:
	default:
		return anything, nil
	}
	known, ok := s.members[string(e.path[depth].name)]
	switch {
	case !ok && e.unknown != nil:
		*e.unknown++
		return anything, nil
	case !ok && e.diagnosis != nil:
		e.diagnosis.unknown(e, s, depth)
		return anything, nil
	case !ok:
		return nil, errUnfit
	case !seen.add(known.index):
	case e.diagnosis != nil:
		e.diagnosis.twice(e, depth+1)
	default:
		return nil, errUnfit
	}
	return known.shape, nil
}
