package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
)

// batch is many records as the parameters of one statement. A column in which
// all of them agree is sent once, the others as arrays: the result of 500
// retries differs in their ids and tokens and in nothing else.
type batch struct {
	names  []string
	values []string // by column: a parameter, or a column of n
	from   string   // the table n, or nothing
	args   []any
}

// newBatch puts records together. The first column is their key.
func newBatch[R any](columns []column[R], records []*R) batch {
	var b batch
	var arrays, names []string
	for i, c := range columns {
		b.names = append(b.names, c.name)
		if len(records) == 1 || i > 0 && agree(c, records) {
			b.values = append(b.values, b.add(c.one(records[0]))+"::"+c.kind.name)
			continue
		}
		b.values = append(b.values, "n."+c.name)
		arrays, names = append(arrays, b.add(c.all(records))+"::"+c.kind.name+"[]"), append(names, c.name)
	}
	if len(arrays) > 0 {
		b.from = " from unnest(" + strings.Join(arrays, ", ") + ") as n (" + strings.Join(names, ", ") + ")"
	}
	return b
}

// agreeable is how many records it takes until it is worth a statement of its
// own that some of their columns agree.
const agreeable = 8

func agree[R any](c column[R], records []*R) bool {
	return len(records) >= agreeable &&
		!slices.ContainsFunc(records[1:], func(r *R) bool { return !c.same(records[0], r) })
}

// add adds a parameter and returns its placeholder.
func (b *batch) add(arg any) string {
	b.args = append(b.args, arg)
	return fmt.Sprintf("$%d", len(b.args))
}

// insert is the statement that adds the records to a table.
func (b *batch) insert(table string) string {
	return "insert into " + table + " (" + strings.Join(b.names, ", ") + ") select " + strings.Join(b.values, ", ") + b.from
}

// update is the statement that gives the records of a table new values.
func (b *batch) update(table string) string { return b.updateBy(table, b.names[:1]) }

// updateBy is [batch.update] for a key of several columns.
func (b *batch) updateBy(table string, keys []string) string {
	var set, where []string
	for i, name := range b.names {
		if slices.Contains(keys, name) {
			where = append(where, "e."+name+" = "+b.values[i])
			continue
		}
		set = append(set, name+" = "+b.values[i])
	}
	return "update " + table + " e set " + strings.Join(set, ", ") + b.from + " where " + strings.Join(where, " and ")
}

// using is the table n for a delete.
func (b *batch) using() string { return strings.Replace(b.from, " from ", " using ", 1) }

// pointers avoids copying: an error is a kilobyte.
func pointers[R any](records []R) []*R {
	list := make([]*R, len(records))
	for i := range records {
		list[i] = &records[i]
	}
	return list
}

// addRows queues the insertion of records, with what the statement ends in.
func addRows[R any](t *tx, table string, columns []column[R], records []R, end string) {
	if len(records) > 0 {
		b := newBatch(columns, pointers(records))
		t.queue(b.insert(table)+end, b.args...)
	}
}

// setRows queues new versions of records; their first column is the key.
func setRows[R any](t *tx, table string, columns []column[R], records []R) {
	if len(records) > 0 {
		b := newBatch(columns, pointers(records))
		t.queue(b.update(table), b.args...)
	}
}

// raw is ids as the driver takes them.
func raw(ids []recoup.ID) [][]byte {
	list := make([][]byte, len(ids))
	for i := range ids {
		list[i] = ids[i][:]
	}
	return list
}
