package sqldb

import "strings"

// Dialect is the SQL dialect of a database. Its methods return the constructs that differ
// structurally between the databases. What differs only in words (placeholders, casts,
// schemas) the SQLite store translates by itself, so it is written for PostgreSQL.
type Dialect uint8

// The dialects.
const (
	PostgreSQL Dialect = iota + 1
	SQLite
)

// Either returns the text for the database.
func (d Dialect) Either(postgres, sqlite string) string {
	if d == SQLite {
		return sqlite
	}
	return postgres
}

// PerDialect builds a value for each dialect once and returns a function that selects
// one. It is for texts and repositories that are declared with their package.
func PerDialect[T any](build func(Dialect) T) func(Dialect) T {
	values := [...]T{build(PostgreSQL), build(SQLite)}
	return func(d Dialect) T { return values[d-1] }
}

// ForUpdate locks the rows of a query: strength is "update", "no key update" or "share"
// with what follows it. SQLite has one writer and needs no locks.
func (d Dialect) ForUpdate(strength string) string { return d.Either(" for "+strength, "") }

// AnyID and AnyText compare the column before them with a parameter that is a list of
// ids or texts.
func (d Dialect) AnyID(parameter string) string {
	return d.Either(" = any ("+parameter+"::uuid[])", " in (select unhex(value) from json_each("+parameter+"))")
}

// AnyText is described at [Dialect.AnyID].
func (d Dialect) AnyText(parameter string) string {
	return d.Either(" = any ("+parameter+"::text[])", " in (select value from json_each("+parameter+"))")
}

// AnyOf compares the column before it with the rows of a query. PostgreSQL runs the query
// first, as it would not if it were joined.
func (d Dialect) AnyOf(query string) string {
	return d.Either(" = any (array("+query+"))", " in (select * from ("+query+"))")
}

// SelectIDs returns a query for the ids of a parameter that is a list.
func (d Dialect) SelectIDs(parameter string) string {
	return d.Either("select unnest("+parameter+"::uuid[])", "select unhex(value) from json_each("+parameter+")")
}

// TextRows returns a table with one column, of the texts of a parameter that is a list.
func (d Dialect) TextRows(parameter, table, column string) string {
	return d.Either("unnest("+parameter+"::text[]) as "+table+" ("+column+")", "(select value as "+column+" from json_each("+parameter+")) "+table)
}

// FirstOfEach joins the first rows of a table for each row of the tables before it. The
// condition, the order and the limit of these rows stand between begin and end. PostgreSQL
// joins a lateral query for some columns. SQLite has no such query: it finds the rows by
// a key, for which rowid will do.
func (d Dialect) FirstOfEach(columns, table, alias, key string) (begin, end string) {
	return d.Either("cross join lateral (select "+columns+" from "+table+" "+alias, "cross join "+table+" "+alias+" on "+alias+"."+key+" in (select "+key+" from "+table+" "+alias),
		d.Either(") "+alias, ")")
}

// Due returns an expression for the time by which rows are due: a parameter, or the
// database's clock if that is NULL. The clock is read once for each statement, so that
// indexes can be used. [Tx.Due] returns the argument.
func (d Dialect) Due(parameter string) string {
	return d.Either("(select coalesce("+parameter+"::timestamptz, recoup.clock()))", parameter)
}

// IDBytes returns the bytes of a column of ids.
func (d Dialect) IDBytes(column string) string { return d.Either("uuid_send("+column+")", column) }

// JSONObjects aggregates rows into a JSON array of objects that have the columns as
// fields, in an order.
func (d Dialect) JSONObjects(order string, columns ...string) string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		fields[i] = "'" + c + "', " + c
	}
	list := strings.Join(fields, ", ")
	return d.Either("json_agg(json_build_object("+list+")", "json_group_array(json_object("+list+")") + " order by " + order + ")"
}

// JSONMap aggregates rows into a JSON object.
func (d Dialect) JSONMap(key, value string) string {
	return d.Either("jsonb_object_agg", "json_group_object") + "(" + key + ", " + value + ")"
}
