package sqlite

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// act implements [sqlops.Tx].
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
	s, err := a.shared(q.SQL())
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
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
		n, err := a.changeShared(sql, list...)
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
		if _, err := a.changeShared(insertOf(b, n), args...); err != nil {
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
	for i := range b.Len {
		args, err := values(b.Columns, &i)
		if err != nil {
			return 0, err
		}
		n, err := a.changeShared(text, args...)
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
	return "insert into " + b.Name + " (" + b.Names("") + ") values " + one + strings.Repeat(", "+one, n-1)
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

// Acquire implements [sqldb.Tx]: there is one writer.
func (a act) Acquire(sqldb.AdvisoryLock, bool) error { return nil }

// Wake implements [sqldb.Tx].
func (a act) Wake(kind string) { a.wake(kind) }

// SecureDelete implements [sqldb.Tx]: the writer overwrites what it deletes, and empties the
// write-ahead log, where the page was, before it answers. Where a reader is in the
// way of that, it is done after a later commit, or when the file is closed.
func (a act) SecureDelete() { a.secureDelete = true }
