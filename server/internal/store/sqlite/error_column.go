package sqlite

import (
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// column is one column of an error: its name, and the field of an error that it
// holds.
type column struct {
	name  string
	field func(*recoup.Error) errorField
}

// errorField is a field that can take over what another of its kind holds.
type errorField interface {
	field
	take(from errorField)

	// normalize makes it what it would be if it were written and read again.
	normalize()
}

// errorColumns are the columns of the table error, and archivedColumns those of
// error_archive but for what its rows carry of the history. Every statement about errors
// is made from these lists.
var (
	errorColumns    = columnsOf(slices.Concat(store.OpenErrors.Columns, store.Leases))
	archivedColumns = columnsOf(slices.Concat(store.Errors.Columns, store.Archiving))
)

func columnsOf(described []sqldb.Column[recoup.Error]) []column {
	list := make([]column, len(described))
	for i, c := range described {
		list[i] = column{c.Name, func(e *recoup.Error) errorField { return fieldOf(&c, e) }}
	}
	return list
}

// fieldOf is the field that a column describes.
func fieldOf[R any](c *sqldb.Column[R], r *R) errorField {
	switch c.Kind {
	case sqldb.KindID:
		return id{c.ID(r)}
	case sqldb.KindTime:
		return stamp{c.Time(r)}
	case sqldb.KindInt:
		return number{c.Int(r)}
	case sqldb.KindBool:
		return flag{c.Bool(r)}
	}
	return text[string]{c.Text(r)}
}

// stampColumns are those that the file keeps less exactly than memory does.
var stampColumns = slices.DeleteFunc(slices.Clone(errorColumns), func(c column) bool {
	_, ok := c.field(new(recoup.Error)).(stamp)
	return !ok
})

// names lists the columns for a statement.
func names(columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
	}
	return strings.Join(list, ", ")
}

// fields returns the fields of e in the order of the columns.
func fields(columns []column, e *recoup.Error) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = c.field(e)
	}
	return list
}

// insertInto returns the statement that writes one row with these columns.
func insertInto(table string, columns []column) string { return addTo(table, names(columns)) }

func addTo(table, columns string) string {
	return "insert into " + table + " (" + columns + ") values (?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ")"
}
