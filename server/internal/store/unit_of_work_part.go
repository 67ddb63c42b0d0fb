package store

import "slices"

// Tracked is a record in the course of a transaction: as it is by now, and as it is
// stored.
type Tracked[R any] struct{ Is, Was R }

// Change is a part of a record that is stored and becomes another.
type Change[P any] struct{ Was, Is P }

// Parts returns what becomes of one part of records: those that come, those that
// change and those that go. A part at its zero value is none.
func Parts[R any, P comparable](records []*Tracked[R], of func(*R) P) (added []P, changed []Change[P], gone []P) {
	var none P
	for _, r := range records {
		switch was, is := of(&r.Was), of(&r.Is); {
		case was == is:
		case was == none:
			added = append(added, is)
		case is == none:
			gone = append(gone, was)
		default:
			changed = append(changed, Change[P]{was, is})
		}
	}
	return added, changed, gone
}

// Streaks returns the counts that have changed, in a stable order; a count of
// zero is to be forgotten.
func (w *UnitOfWork) Streaks() []StreakCount {
	var list []StreakCount
	for k, s := range w.streaks {
		if s.changed {
			list = append(list, StreakCount{k, s.count})
		}
	}
	slices.SortFunc(list, func(a, b StreakCount) int {
		return slices.Compare([]string{a.Family, a.Entity}, []string{b.Family, b.Entity})
	})
	return list
}

// StreakCount is an entity's count in a family.
type StreakCount struct {
	StreakKey
	Count int
}
