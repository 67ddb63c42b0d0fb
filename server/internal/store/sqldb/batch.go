package sqldb

import "strings"

// Batch is rows of some type on their way into a table: the columns are those of
// the row's number, so that who writes it need not know the type.
type Batch struct {
	Table[int]
	Len int
}

// Batch returns records as a batch.
func (t Table[R]) Batch(records []R) Batch {
	columns := Within("", t.Columns, func(i *int) *R { return &records[*i] })
	return Batch{Table[int]{t.Name, columns}, len(records)}
}

// OnConflict is how an insert ends that takes the place of rows with the same key.
func (b Batch) OnConflict() string {
	var set []string
	for _, c := range b.Columns {
		if c.role&isKey == 0 {
			set = append(set, c.Name+" = excluded."+c.Name)
		}
	}
	return " on conflict (" + strings.Join(b.Keys(), ", ") + ") do update set " + strings.Join(set, ", ")
}

// Answer takes up rows of some type on their way out of a table, as [Batch] hands
// them in.
type Answer struct {
	Columns []Column[int]
	Next    func() int   // makes room for a row and returns its number
	Done    func() error // takes the row that is complete; nil: it stays where it is
}

// Into returns an answer that appends to a list.
func Into[R any](list *[]R, columns []Column[R]) Answer {
	return Answer{
		Columns: Within("", columns, func(i *int) *R { return &(*list)[*i] }),
		Next: func() int {
			var zero R
			*list = append(*list, zero)
			return len(*list) - 1
		},
	}
}

// Each returns an answer that hands over one row after the other. A row is valid until
// the next; an error ends the reading.
func Each[R any](columns []Column[R], take func(*R) error) Answer {
	var current R
	return Answer{
		Columns: Within("", columns, func(*int) *R { return &current }),
		Next: func() int {
			var zero R
			current = zero
			return 0
		},
		Done: func() error { return take(&current) },
	}
}
