package sqlite

import (
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
)

// numbers are the numbers of rows, as a statement for many is given them: a list
// that json_each reads.
type numbers struct {
	list []byte
	n    int
}

func (l *numbers) add(row int64) {
	separator := byte(',')
	if l.n == 0 {
		separator = '['
	}
	l.list = strconv.AppendInt(append(l.list, separator), row, 10)
	l.n++
}

func (l *numbers) json() string { return string(append(l.list, ']')) }

// change is what becomes of errors that one statement writes: each of them takes
// over the same values in the same columns. What was decided stays what is written,
// because an error joins others only if that makes of it what was decided.
type change struct {
	next    recoup.Error // of the first
	columns []column     // those that it changes
	taken   []taking     // what they take over
	made    recoup.Error // of the one that would join
	leased  bool         // each has a lease of its own
	attempt bool         // the attempt that ends is the present lease
	rows    numbers
	tokens  []byte // of the leases, in the order of rows
}

// The columns in which errors that are written together have values of their own.
const (
	leaseToken  = "lease_token"
	lastAttempt = "last_attempt"
)

// taking is a column of an error that takes over what the first has there.
type taking struct{ to, from errorField }

func newChange(was, next *recoup.Error) (*change, error) {
	c := &change{next: *next}
	for _, column := range errorColumns {
		before, err := column.field(was).Value()
		if err != nil {
			return nil, err
		}
		after, err := column.field(next).Value()
		if err != nil {
			return nil, err
		}
		if same(before, after) {
			continue
		}
		c.columns = append(c.columns, column)
		c.taken = append(c.taken, taking{column.field(&c.made), column.field(&c.next)})
		switch {
		case after == nil:
		case column.name == leaseToken:
			c.leased = true
		case column.name == lastAttempt:
			c.attempt = next.LastAttempt == was.LeaseToken
		}
	}
	return c, nil
}

func same(a, b driver.Value) bool {
	x, ok := a.([]byte)
	y, also := b.([]byte)
	if ok && also {
		return slices.Equal(x, y)
	}
	return ok == also && a == b
}

// makes reports whether the statement would make next of was.
func (c *change) makes(was, next *recoup.Error) bool {
	c.made = *was
	for _, t := range c.taken {
		t.to.take(t.from)
	}
	if c.attempt {
		c.made.LastAttempt = was.LeaseToken
	}
	if c.leased {
		c.made.LeaseToken = next.LeaseToken
	}
	return c.made == *next && (!c.leased || !next.LeaseToken.IsZero())
}

func (c *change) add(row int64, next *recoup.Error) {
	c.rows.add(row)
	if c.leased {
		c.tokens = append(c.tokens, next.LeaseToken[:]...)
	}
}

// update writes the columns that have changed and no other: SQLite rewrites the
// entries of every index that has a column in the statement.
func (c *change) update(t *tx) error {
	if len(c.columns) == 0 {
		return nil
	}
	list, args := make([]string, len(c.columns)), []any{c.rows.json(), c.tokens}
	for i, column := range c.columns {
		switch {
		case column.name == leaseToken && c.leased:
			list[i] = "j.own"
		case column.name == lastAttempt && c.attempt:
			list[i] = "error." + leaseToken
		default:
			args = append(args, column.field(&c.next))
			list[i] = parameter(len(args))
		}
		list[i] = column.name + " = " + list[i]
	}
	text := `update error set ` + strings.Join(list, ", ")
	if !c.leased {
		return t.exec(text+` where rowid in (select value from json_each(?1))`, args...)
	}
	return t.exec(text+` from (select value as at, substr(?2, 1 + 16 * key, 16) as own from json_each(?1)) j where error.rowid = j.at`, args...)
}

// changes gathers errors by what becomes of them.
type changes struct{ list []*change }

func (g *changes) add(row int64, was, next *recoup.Error) error {
	c := recent(g.list, func(c *change) bool { return c.makes(was, next) })
	if c == nil {
		var err error
		if c, err = newChange(was, next); err != nil {
			return err
		}
		g.list = append(g.list, c)
	}
	c.add(row, next)
	return nil
}

// updates is what becomes of errors that stay in their table, and what the gate's
// log records of it.
type updates struct {
	changes
	opened, closed gate
}

func newUpdates() *updates {
	return &updates{closed: gate{blocks: true}}
}

func (u *updates) add(row int64, was, next *recoup.Error) error {
	switch {
	case next.Blocking == was.Blocking:
	case next.Blocking:
		u.closed.rows.add(row)
	default:
		u.opened.rows.add(row)
	}
	return u.changes.add(row, was, next)
}

func (u *updates) save(t *tx) error {
	for _, c := range u.list {
		if err := c.update(t); err != nil {
			return err
		}
	}
	if err := u.opened.save(t); err != nil {
		return err
	}
	return u.closed.save(t)
}

// recent returns the last of a list's latest that fits.
func recent[T any](list []*T, fits func(*T) bool) *T {
	const latest = 8 // so that a batch in which nothing is alike costs no more than its length
	for i := len(list) - 1; i >= max(0, len(list)-latest); i-- {
		if fits(list[i]) {
			return list[i]
		}
	}
	return nil
}

func (f id) take(from errorField) {
	if v, ok := from.(id); ok {
		*f.to = *v.to
	}
}

func (f stamp) take(from errorField) {
	if v, ok := from.(stamp); ok {
		*f.to = *v.to
	}
}

func (f text[T]) take(from errorField) {
	if v, ok := from.(text[T]); ok {
		*f.to = *v.to
	}
}

func (f number) take(from errorField) {
	if v, ok := from.(number); ok {
		*f.to = *v.to
	}
}

func (f flag) take(from errorField) {
	if v, ok := from.(flag); ok {
		*f.to = *v.to
	}
}

func (f stamp) normalize() {
	if !f.to.IsZero() && (f.to.Nanosecond()%1000 != 0 || f.to.Location() != time.UTC) {
		*f.to = time.UnixMicro(micros(*f.to)).UTC()
	}
}

func (id) normalize() {}

func (text[T]) normalize() {}

func (number) normalize() {}

func (flag) normalize() {}
