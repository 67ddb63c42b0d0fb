package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// database is the store as the verbs that both databases share see it.
type database struct{ *Store }

// Act implements [sqldb.Transactor].
func (d database) Act(ctx context.Context, doing string, at time.Time, do func(sqlops.Tx) error) error {
	return d.writer.doAt(ctx, doing, at, func(t *tx) error { return do(act{t, d.Store}) })
}

// Read implements [sqldb.Reader].
func (d database) Read(ctx context.Context, q *sqldb.Query, into sqldb.Answer) error {
	pool := d.read
	if q.Vital {
		pool = d.vital
	}
	statement, err := pool.statement(ctx, translateSQL(q.SQL()))
	if err != nil {
		return translate(err)
	}
	args, err := parameters(q.Args)
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return translate(err)
	}
	return translate(take(rows, into))
}

// Snapshot implements [sqldb.Reader].
func (d database) Snapshot(ctx context.Context, _ string, do func(read func(*sqldb.Query, sqldb.Answer) error) error) error {
	tx, err := d.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return translate(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return do(func(q *sqldb.Query, into sqldb.Answer) error {
		args, err := parameters(q.Args)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, translateSQL(q.SQL()), args...)
		if err != nil {
			return translate(err)
		}
		return translate(take(rows, into))
	})
}

// take reads the rows of an answer and closes them.
func take(rows *sql.Rows, into sqldb.Answer) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	cells, places := make([]cell, len(into.Columns)), make([]any, len(into.Columns))
	for i := range cells {
		places[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		i := into.Next()
		for c := range cells {
			if err := read(&into.Columns[c], &i, cells[c].value); err != nil {
				return err
			}
		}
		if into.Done != nil {
			if err := into.Done(); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}

// rowsOf reads described rows within a transaction.
func rowsOf[R any](t *tx, columns []sqldb.Column[R], text string, args ...any) (list []R, err error) {
	rows, err := t.query(text, args...)
	if err != nil {
		return nil, err
	}
	err = take(rows, sqldb.Into(&list, columns))
	return list, err
}

// add, set and put write described rows within a transaction, as [act] does.
func add[R any](t *tx, table sqldb.Table[R], records []R) error {
	return act{tx: t}.Add(table.Written().Batch(records))
}

func set[R any](t *tx, table sqldb.Table[R], records []R) error {
	return act{tx: t}.Update(table.Changing().Batch(records))
}

// rewriteRules translate a statement that is written for PostgreSQL.
// There is one writer, so nothing needs a lock; the lease d of an error e is in its
// row; of each group a few rows are picked by their keys, where PostgreSQL has a lateral
// join; which index serves is said in a comment, /*by some_idx*/; and behind a plus the
// planner does not see a limit, for whose every value it would prepare the statement
// anew.
var rewriteRules = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(` for (no key update|update|share)( of \w+)?( skip locked)?`), ""},
	{regexp.MustCompile(` left join lateral \(select lease_token, [^()]*\) d on true`), ""},
	{regexp.MustCompile(`\b(coalesce\(d\.\w+, |greatest\()(e\.\w+)(, d\.\w+)?\)`), "$2"},
	{regexp.MustCompile(`\bd\.(lease)`), "e.$1"},
	{regexp.MustCompile(`(?s)recoup\.lease l cross join .*? limit 1\) d`), "lease"},
	{regexp.MustCompile(`(?s)cross join lateral \(\s*select \* from (\S+)(.*?)(\swhere .*?\slimit \$\d+)\) (\w+)`), "cross join $1 $4 on $4.rowid in (select rowid from $1$2$3)"},
	{regexp.MustCompile(`(?s)cross join lateral \(\s*select (\w+)(?:, \w+)* from (\S+)(.*?)(\swhere .*?\slimit \$\d+)\) (\w+)`), "cross join $2 $5 on $5.$1 in (select $1 from $2$3$4)"},
	{regexp.MustCompile(`\bunnest\((\$\d+)::text\[\]\) as (\w+) \((\w+)\)`), "(select value as $3 from json_each($1)) $2"},
	{regexp.MustCompile(`left join lateral \(select \* from (\S+ \w+) where (.*?) limit 1\) \w+ on true`), "left join $1 on $2"},
	{regexp.MustCompile(`\bunnest\((\$\d+)::uuid\[\]\)`), "unhex(value) from json_each($1)"},
	{regexp.MustCompile(`\(select coalesce\((\$\d+)::timestamptz, recoup\.clock\(\)\)\)`), "$1"},
	{regexp.MustCompile(`\buuid_send\((\w+)\)`), "$1"},
	{regexp.MustCompile(`\bjson_agg\(`), "json_group_array("},
	{regexp.MustCompile(`\bjson_build_object\(`), "json_object("},
	{regexp.MustCompile(`\bjsonb_object_agg\(`), "json_group_object("},
	{regexp.MustCompile(` = any \((\$\d+)::uuid\[\]\)`), " in (select unhex(value) from json_each($1))"},
	{regexp.MustCompile(` = any \((\$\d+)::text\[\]\)`), " in (select value from json_each($1))"},
	{regexp.MustCompile(` = any \(array\(`), " in (select * from ("},
	{regexp.MustCompile(`/\*by (\w+)\*/`), "indexed by $1"},
	{regexp.MustCompile(`\b(recoup|cl)\.`), ""},
	{regexp.MustCompile(`::\w+| collate "C"| at time zone 'UTC'`), ""},
	{regexp.MustCompile(`\blimit \$`), "limit 0 + $$"},
	{regexp.MustCompile(`\$(\d+)`), "?$1"},
}

var translated sync.Map // by the text as it is written for PostgreSQL

// translateSQL translates a statement written for PostgreSQL into SQLite's dialect.
func translateSQL(text string) string {
	if known, ok := translated.Load(text); ok {
		if s, ok := known.(string); ok {
			return s
		}
	}
	s := text
	for _, rule := range rewriteRules {
		s = rule.from.ReplaceAllString(s, rule.to)
	}
	translated.Store(text, s)
	return s
}

// parameters are arguments as the driver takes them.
func parameters(args []any) ([]any, error) {
	list := slices.Clone(args)
	for i, v := range list {
		var err error
		switch v := v.(type) {
		case recoup.ID:
			list[i] = v[:]
		case [32]byte:
			list[i] = v[:]
		case time.Time:
			list[i] = micros(v)
		case []recoup.ID:
			list[i], err = hexes(v)
		case []string:
			list[i], err = jsonText(v)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func hexes(ids []recoup.ID) (string, error) {
	list := make([]string, len(ids))
	for i := range ids {
		list[i] = hex.EncodeToString(ids[i][:])
	}
	return jsonText(list)
}

func jsonText(list []string) (string, error) {
	b, err := json.Marshal(append([]string{}, list...))
	return string(b), err
}

// act is a transaction as verbs see it.
type act struct {
	*tx
	store *Store
}

// Dialect implements [sqldb.Reader].
func (d database) Dialect() sqldb.Dialect { return sqldb.SQLite }

// Dialect implements [sqldb.Tx].
func (a act) Dialect() sqldb.Dialect { return sqldb.SQLite }

// Now implements [sqldb.Tx].
func (a act) Now() time.Time { return a.now }

// Query implements [sqldb.Tx].
func (a act) Query(q *sqldb.Query, into sqldb.Answer) error {
	args, err := parameters(q.Args)
	if err != nil {
		return err
	}
	rows, err := a.query(translateSQL(q.SQL()), args...)
	if err != nil {
		return err
	}
	return take(rows, into)
}

// QueryLater implements [sqldb.Tx].
func (a act) QueryLater(q *sqldb.Query, into sqldb.Answer) error { return a.Query(q, into) }

// Lock implements [sqldb.Tx].
func (a act) Lock(q *sqldb.Query, into sqldb.Answer) error { return a.Query(q, into) }

// LockRows implements [sqldb.Tx]: there is one writer.
func (a act) LockRows(string, ...any) {}

// Due implements [sqldb.Tx].
func (a act) Due() any { return a.now }

// Do implements [sqldb.Tx].
func (a act) Do(sql string, args ...any) error {
	_, err := a.Change(sql, args)
	return err
}

// Change implements [sqldb.Tx].
func (a act) Change(sql string, args ...[]any) (changed int, err error) {
	for _, list := range args {
		list, err := parameters(list)
		if err != nil {
			return 0, err
		}
		n, err := a.change(translateSQL(sql), list...)
		if err != nil {
			return 0, err
		}
		changed += n
	}
	return changed, nil
}

// width is how many rows one statement adds: what it costs beside them is then no
// matter.
const width = 50

// Add implements [sqldb.Tx].
func (a act) Add(b sqldb.Batch) error {
	for i := 0; i < b.Len; {
		n := 1
		if b.Len-i >= width {
			n = width
		}
		args := make([]any, 0, n*len(b.Columns))
		for end := i + n; i < end; i++ {
			list, err := values(b.Columns, &i)
			if err != nil {
				return err
			}
			args = append(args, list...)
		}
		if err := a.exec(insertOf(b, n), args...); err != nil {
			return err
		}
	}
	return nil
}

// InsertNew implements [sqldb.Tx].
func (a act) InsertNew(b sqldb.Batch) (int, error) {
	key, unique := b.Identity()
	known := equals(b, unique)
	if list := equals(b, key); len(list) > 0 {
		known = append(known, strings.Join(list, " and "))
	}
	text := "insert into " + b.Name + " (" + b.Names("") + ") select " + strings.Join(placeholders(len(b.Columns)), ", ") +
		" where not exists (select 1 from " + b.Name + " where " + strings.Join(known, " or ") + ")"
	return a.each(text, b)
}

// InsertIgnore implements [sqldb.Tx].
func (a act) InsertIgnore(b sqldb.Batch) error {
	_, err := a.InsertNew(b)
	return err
}

// Upsert implements [sqldb.Tx].
func (a act) Upsert(b sqldb.Batch) error {
	_, err := a.each(insertOf(b, 1)+b.OnConflict(), b)
	return err
}

// Update implements [sqldb.Tx].
func (a act) Update(b sqldb.Batch) error {
	var rest []string
	for _, c := range b.Columns {
		if !slices.Contains(b.Keys(), c.Name) {
			rest = append(rest, c.Name)
		}
	}
	_, err := a.each("update "+b.Name+" set "+strings.Join(equals(b, rest), ", ")+" where "+strings.Join(equals(b, b.Keys()), " and "), b)
	return err
}

// each runs a statement for every row of a batch.
func (a act) each(text string, b sqldb.Batch) (changed int, err error) {
	text = translateSQL(text)
	for i := range b.Len {
		args, err := values(b.Columns, &i)
		if err != nil {
			return 0, err
		}
		n, err := a.change(text, args...)
		if err != nil {
			return 0, err
		}
		changed += n
	}
	return changed, nil
}

// insertOf is the statement that adds n rows.
func insertOf(b sqldb.Batch, n int) string {
	one := "(?" + strings.Repeat(", ?", len(b.Columns)-1) + ")"
	return translateSQL("insert into " + b.Name + " (" + b.Names("") + ") values " + one + strings.Repeat(", "+one, n-1))
}

func parameter(n int) string { return "?" + strconv.Itoa(n) }

// placeholders are those of n columns.
func placeholders(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = parameter(i + 1)
	}
	return list
}

// equals compares columns with their values.
func equals(b sqldb.Batch, names []string) (list []string) {
	for i, c := range b.Columns {
		if slices.Contains(names, c.Name) {
			list = append(list, c.Name+" = "+parameter(i+1))
		}
	}
	return list
}

// Copy implements [sqldb.Tx].
func (a act) Copy(b sqldb.Batch) (int, error) { return b.Len, duplicate(a.Add(b)) }

// Acquire implements [sqldb.Tx]: there is one writer.
func (a act) Acquire(sqldb.AdvisoryLock, bool) error { return nil }

// Wake implements [sqldb.Tx].
func (a act) Wake(kind string) { a.wake(kind) }

// SecureDelete implements [sqldb.Tx]: the writer overwrites what it deletes, and empties the
// write-ahead log, where the page was, before it answers. Where a reader is in the
// way of that, it is done after a later commit, or when the file is closed.
func (a act) SecureDelete() { a.secureDelete = true }
