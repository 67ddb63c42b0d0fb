package sqlops

import (
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Query is a question in the making with its parameters.
type Query struct {
	Doing string // what is done by it, in an error
	Vital bool   // it must not wait behind lists and reports
	Span  bool   // its plan depends on the span of time that it is asked about
	Args  []any

	sql strings.Builder
}

// ask begins a question.
func ask(doing, sql string, args ...any) *Query {
	q := &Query{Doing: doing, Args: args}
	return q.add(sql)
}

// SQL returns the text.
func (q *Query) SQL() string { return q.sql.String() }

// add appends text that is ours.
func (q *Query) add(sql string) *Query {
	q.sql.WriteString(sql)
	return q
}

// arg adds a parameter and returns its placeholder.
func (q *Query) arg(value any) string {
	q.Args = append(q.Args, value)
	return "$" + strconv.Itoa(len(q.Args))
}

// equal restricts a column, unless the value is empty.
func (q *Query) equal(column, value string) {
	if value != "" {
		q.add(" and " + column + " = " + q.arg(value))
	}
}

// during restricts a column to a span of time, of which either end may be open.
func (q *Query) during(column string, from, to time.Time) {
	if !from.IsZero() {
		q.add(" and " + column + " >= " + q.arg(from))
	}
	if !to.IsZero() {
		q.add(" and " + column + " < " + q.arg(to))
	}
}

// newest goes on from a cursor in a list that runs from new to old, for a page.
func (q *Query) newest(at, key string, p store.Page) *Query {
	q.past(at, key, p.Cursor)
	return q.add(" order by " + at + " desc, " + key + " desc limit " + q.arg(p.Size()))
}

// past goes on from a cursor in a list that runs from new to old.
func (q *Query) past(at, key string, c store.Cursor) {
	if !c.IsZero() {
		q.add(" and (" + at + ", " + key + ") < (" + q.arg(c.At) + ", " + q.arg(c.ID) + ")")
	}
}

// oneOf restricts a column to some words.
func (q *Query) oneOf(column string, words []string) {
	if len(words) == 1 && words[0] != "" { // by the index that has the order
		q.equal(column, words[0])
		return
	}
	q.add(" and " + column + " = any (" + q.arg(words) + "::text[])")
}

// texts are words of a type as texts.
func texts[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return words
}

// by names the index that SQLite is to read.
func by(index string) string { return " /*by " + index + "*/" }

// anyOf restricts a column to some ids.
func (q *Query) anyOf(column string, ids []recoup.ID) {
	q.add(" and " + column + " = any (" + q.arg(ids) + "::uuid[])")
}

// idColumn reads an id alone.
var idColumn = []sqldb.Column[recoup.ID]{sqldb.ID("id", func(id *recoup.ID) *recoup.ID { return id })}

// clamp keeps a limit between one row and a page.
func clamp(limit int) int { return min(max(limit, 1), store.MaxPage) }
