package sqldb

import "strings"

// Batch is rows to be written. Its columns are accessed by the number of a row, so that
// the store need not have the type of the rows.
type Batch struct {
	Table[int]
	Len int
}

// Batch returns rows as a batch.
func (t Table[R]) Batch(records []R) Batch {
	columns := Within("", t.Columns, func(i *int) *R { return &records[*i] })
	return Batch{Table[int]{t.Name, columns}, len(records)}
}

// OnConflict returns the end of an insert that replaces rows with the same key.
func (b Batch) OnConflict() string {
	var set []string
	for _, c := range b.Columns {
		if c.role&isKey == 0 {
			set = append(set, c.Name+" = excluded."+c.Name)
		}
	}
	return " on conflict (" + strings.Join(b.Keys(), ", ") + ") do update set " + strings.Join(set, ", ")
}

// Answer receives the rows of a query. Its columns are accessed by the number of a row,
// as in [Batch].
type Answer struct {
	Columns []Column[int]
	Next    func() int   // adds a row and returns its number
	Done    func() error // is called when a row is complete; may be nil
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

// Each returns an answer that passes each row to a function. A row is valid until the
// function returns; an error ends the query.
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
