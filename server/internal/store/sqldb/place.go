package sqldb

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Place is a table in which ids are found by a part of them: by their end, of which the
// table has an index, or by their beginning, by which its key is sorted.
type Place struct {
	rows               Repository[wire.FoundID]
	index, key, begins string
}

// NewPlace returns a place of a table: the index of the ends of ids, the column of the
// id, and the columns that describe a row and have its time.
func NewPlace(table, index, key, of, what, at string) Place {
	t := Table[wire.FoundID]{Name: table, Columns: []Column[wire.FoundID]{
		ID(key, func(f *wire.FoundID) *recoup.ID { return &f.ID }),
		Text(of, func(f *wire.FoundID) *string { return &f.Of }),
		Text(what, func(f *wire.FoundID) *string { return &f.What }),
		Time(at, func(f *wire.FoundID) *time.Time { return &f.At }),
	}}
	return Place{
		rows:   NewRepository(t, "id"),
		index:  index,
		key:    key,
		begins: "where " + key + " between $1 and $2 order by " + key + " desc limit $3",
	}
}

// Find returns rows whose id ends or begins with a part, at most limit of each. A row
// may be returned twice, and an id may match only in its indexed part.
func (p Place) Find(ctx context.Context, db Reader, part recoup.IDPart, limit int) (found []wire.FoundID, err error) {
	const doing = "look for an id"
	first, last := part.Span()
	ends := IndexedBy(p.index) + " where substr(" + db.Dialect().IDBytes(p.key) + ", 14) = $1 limit $2"
	for _, q := range []*Query{
		p.rows.Select(doing, ends, part.End(), Clamp(limit)),
		p.rows.Select(doing, p.begins, first, last, Clamp(limit)),
	} {
		list, err := p.rows.List(ctx, db, q)
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	return found, nil
}

// FindIDs returns the rows of some places whose id begins or ends with a part, the newest
// first. It looks at no more than limit rows of a place for either.
func FindIDs(ctx context.Context, db Reader, part recoup.IDPart, limit int, places ...Place) ([]wire.FoundID, error) {
	var found []wire.FoundID
	for _, p := range places {
		list, err := p.Find(ctx, db, part, limit)
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	found = slices.DeleteFunc(found, func(f wire.FoundID) bool { return !part.Of(f.ID) })
	slices.SortFunc(found, func(a, b wire.FoundID) int {
		return cmp.Or(b.At.Compare(a.At), bytes.Compare(b.ID[:], a.ID[:]))
	})
	return slices.CompactFunc(found, func(a, b wire.FoundID) bool { return a.ID == b.ID }), nil
}
