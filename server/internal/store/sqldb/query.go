package sqldb

import (
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
)

// Query is a query under construction with its arguments.
type Query struct {
	Doing string // what the query is for, in errors
	Vital bool   // it runs on connections that lists and reports do not use
	Span  bool   // its plan depends on its arguments, so it is planned for each call
	Args  []any

	sql strings.Builder
}

// NewQuery returns a query with the start of its text.
func NewQuery(doing, sql string, args ...any) *Query {
	q := &Query{Doing: doing, Args: args}
	return q.Add(sql)
}

// SQL returns the text.
func (q *Query) SQL() string { return q.sql.String() }

// Add appends text. Values never belong in it: see [Query.Arg].
func (q *Query) Add(sql string) *Query {
	q.sql.WriteString(sql)
	return q
}

// Arg adds an argument and returns its placeholder.
func (q *Query) Arg(value any) string {
	q.Args = append(q.Args, value)
	return "$" + strconv.Itoa(len(q.Args))
}

// Equal adds a condition that a column has a value, unless the value is empty.
func (q *Query) Equal(column, value string) {
	if value != "" {
		q.Add(" and " + column + " = " + q.Arg(value))
	}
}

// During adds a condition that a column is in [from, to). A zero time leaves that end
// open.
func (q *Query) During(column string, from, to time.Time) {
	if !from.IsZero() {
		q.Add(" and " + column + " >= " + q.Arg(from))
	}
	if !to.IsZero() {
		q.Add(" and " + column + " < " + q.Arg(to))
	}
}

// Newest adds the end of a query for a page of a list that runs from new to old.
func (q *Query) Newest(at, key string, p Page) *Query {
	q.Past(at, key, p.Cursor)
	return q.Add(" order by " + at + " desc, " + key + " desc limit " + q.Arg(p.Size()))
}

// Past adds the condition that rows are behind a cursor in a list that runs from new to
// old.
func (q *Query) Past(at, key string, c Cursor) {
	if !c.IsZero() {
		q.Add(" and (" + at + ", " + key + ") < (" + q.Arg(c.At) + ", " + q.Arg(c.ID) + ")")
	}
}

// OneOf adds a condition that a column has one of some texts.
func (q *Query) OneOf(d Dialect, column string, words []string) {
	if len(words) == 1 && words[0] != "" { // an index then returns the rows in its order
		q.Equal(column, words[0])
		return
	}
	q.Add(" and " + column + d.AnyText(q.Arg(words)))
}

// AnyOf adds a condition that a column has one of some ids.
func (q *Query) AnyOf(d Dialect, column string, ids []recoup.ID) {
	q.Add(" and " + column + d.AnyID(q.Arg(ids)))
}

// Either adds one of two texts, or none if which is nil.
func (q *Query) Either(is, isNot string, which *bool) {
	switch {
	case which == nil:
	case *which:
		q.Add(is)
	default:
		q.Add(isNot)
	}
}

// Texts converts values of a text type to strings.
func Texts[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return words
}

// IndexedBy names the index that SQLite uses for the table before it.
func IndexedBy(index string) string { return " /*by " + index + "*/" }

// IDColumn describes rows that consist of an id.
func IDColumn() []Column[recoup.ID] {
	return []Column[recoup.ID]{ID("id", func(id *recoup.ID) *recoup.ID { return id })}
}
