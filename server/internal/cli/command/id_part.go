package command

import (
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Find looks for things of a kind by a part of their id.
type Find func(kind recoup.IDKind, part string) (wire.FoundIDs, error)

// IDs reads the ids of things of a kind: whole, or a beginning or an end that only
// one of them has.
func (s *Session) IDs(kind recoup.IDKind, args ...string) ([]recoup.ID, error) {
	ids := make([]recoup.ID, len(args))
	for i, arg := range args {
		id, err := s.id(kind, arg)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// ID is [Session.IDs] of one.
func (s *Session) ID(kind recoup.IDKind, args []string) (recoup.ID, error) {
	return s.id(kind, args[0])
}

func (s *Session) id(kind recoup.IDKind, arg string) (recoup.ID, error) {
	return s.IDBy(arg, func(part string) (wire.FoundIDs, error) { return s.Find(kind, part) })
}

// IDBy reads the id of a thing that find looks for by a part of its id.
func (s *Session) IDBy(arg string, find func(part string) (wire.FoundIDs, error)) (recoup.ID, error) {
	if id, err := recoup.ParseID(arg); err == nil {
		return id, nil
	}
	if err := CheckID(arg); err != nil {
		return recoup.ID{}, err
	}
	found, err := find(arg)
	switch {
	case err != nil:
		return recoup.ID{}, err
	case len(found.IDs) == 0:
		return recoup.ID{}, UnknownID{Part: arg}
	case len(found.IDs) > 1:
		return recoup.ID{}, s.ambiguous(arg, found)
	}
	return found.IDs[0].ID, nil
}

// CheckID refuses what is neither an id nor a part of one.
func CheckID(arg string) error {
	_, err := recoup.ParseID(arg)
	if err != nil {
		_, err = recoup.ParseIDPart(arg)
	}
	if err != nil {
		return BadID{Word: arg}
	}
	return nil
}

// UnknownID is a part that no id has. Which list to look into, the command knows.
type UnknownID struct{ Part, List string }

func (e UnknownID) Error() string {
	text := fmt.Sprintf("no id begins or ends with %q", e.Part)
	if e.List != "" {
		text += ": '" + e.List + "' prints them"
	}
	return text
}

// ambiguous says what a part of an id may mean.
func (s *Session) ambiguous(part string, found wire.FoundIDs) error {
	t := NewTable(s.Streams, Column{Name: "ID"}, Column{Name: "OF", Wrap: true}, Column{Name: "WHAT", Drop: 2}, Column{Name: "CREATED", Drop: 1})
	for _, f := range found.IDs {
		t.Add(f.ID, f.Of, f.What, At(f.At))
	}
	n := fmt.Sprint(len(found.IDs))
	if found.More {
		n = "more than " + n
	}
	return fmt.Errorf("%q is part of %s ids: expected more of one of these\n%s", part, n, t)
}
