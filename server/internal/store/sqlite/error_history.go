package sqlite

import (
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

var (
	historyColumns = store.History.Columns
	historyNames   = store.History.Names("")
	insertHistory  = `insert into transition (` + historyNames + `) values (?` + strings.Repeat(", ?", len(historyColumns)-1) + `)`
)

func transitionFields(t *recoup.Transition) []any {
	list := make([]any, len(historyColumns))
	for i := range historyColumns {
		list[i] = fieldOf(&historyColumns[i], t)
	}
	return list
}

// echo is a column of the history that often says what a column of the error does:
// then a statement for many takes it from there.
type echo struct {
	name, column string
	heard        func(*recoup.Transition, *recoup.Error) bool
	repeat       func(*recoup.Transition, *recoup.Error)
}

func echoOf[V comparable](name, column string, says func(*recoup.Transition) *V, has func(*recoup.Error) *V) echo {
	var nothing V
	return echo{
		name, column,
		func(t *recoup.Transition, e *recoup.Error) bool { return *says(t) != nothing && *says(t) == *has(e) },
		func(t *recoup.Transition, e *recoup.Error) { *says(t) = *has(e) },
	}
}

var echoes = []echo{
	echoOf("error_id", "error_id", func(t *recoup.Transition) *recoup.ID { return &t.ErrorID }, func(e *recoup.Error) *recoup.ID { return &e.ID }),
	echoOf("at", "updated_at", func(t *recoup.Transition) *time.Time { return &t.At }, func(e *recoup.Error) *time.Time { return &e.UpdatedAt }),
	echoOf("was_next_retry_at", "next_retry_at", func(t *recoup.Transition) *time.Time { return &t.Before.NextRetryAt }, nextRetryAt),
	echoOf("was_expires_at", "expires_at", func(t *recoup.Transition) *time.Time { return &t.Before.ExpiresAt }, expiresAt),
	echoOf("next_retry_at", "next_retry_at", func(t *recoup.Transition) *time.Time { return &t.After.NextRetryAt }, nextRetryAt),
	echoOf("expires_at", "expires_at", func(t *recoup.Transition) *time.Time { return &t.After.ExpiresAt }, expiresAt),
	echoOf("claimed_at", "leased_at", func(t *recoup.Transition) *time.Time { return &t.ClaimedAt }, func(e *recoup.Error) *time.Time { return &e.LeasedAt }),
	echoOf("attempt", "lease_token", func(t *recoup.Transition) *recoup.ID { return &t.Attempt }, func(e *recoup.Error) *recoup.ID { return &e.LeaseToken }),
}

func nextRetryAt(e *recoup.Error) *time.Time { return &e.NextRetryAt }

func expiresAt(e *recoup.Error) *time.Time { return &e.ExpiresAt }

// chapter is rows of history that one statement writes: they agree but for what
// they echo of their errors.
type chapter struct {
	first  recoup.Transition
	joined recoup.Transition // scratch: the row that the statement would write
	echoes []echo
	rows   numbers
}

func newChapter(t *recoup.Transition, e *recoup.Error) *chapter {
	c := &chapter{first: *t}
	for _, echo := range echoes {
		if echo.heard(t, e) {
			c.echoes = append(c.echoes, echo)
		}
	}
	return c
}

// fits reports whether the statement would write t as the history of e.
func (c *chapter) fits(t *recoup.Transition, e *recoup.Error) bool {
	c.joined = c.first
	for i := range c.echoes {
		c.echoes[i].repeat(&c.joined, e)
	}
	return c.joined == *t
}

func (c *chapter) save(t *tx) error {
	from := map[string]string{}
	for _, echo := range c.echoes {
		from[echo.name] = "e." + echo.column
	}
	args := []any{c.rows.json()}
	list := make([]string, len(historyColumns))
	for i := range historyColumns {
		column := &historyColumns[i]
		if list[i] = from[column.Name]; list[i] == "" {
			args = append(args, fieldOf(column, &c.first))
			list[i] = parameter(len(args))
		}
	}
	return t.exec(`insert into transition (`+historyNames+`) select `+strings.Join(list, ", ")+
		` from json_each(?1) j cross join error e on e.rowid = j.value`, args...)
}

// historyRow is a row of history and its error as the table has it; nil if the table
// has not.
type historyRow struct {
	*recoup.Transition
	of *recoup.Error
}

// saveHistory writes history in its order as far as it is of one error, and by whole
// batches where rows are alike.
func (t *tx) saveHistory(list []historyRow) error {
	open := historyBatch{seen: make(map[recoup.ID]bool, len(list))}
	for _, h := range list {
		if h.of == nil || open.seen[h.ErrorID] {
			if err := open.save(t); err != nil {
				return err
			}
		}
		var err error
		if h.of == nil {
			err = t.exec(insertHistory, transitionFields(h.Transition)...)
		} else {
			err = open.add(t, h)
		}
		if err != nil {
			return err
		}
	}
	return open.save(t)
}

// historyBatch holds history that is not written yet, with at most one row of each error.
type historyBatch struct {
	list []*chapter
	seen map[recoup.ID]bool
}

func (o *historyBatch) add(t *tx, h historyRow) error {
	row, err := t.rowOf(h.ErrorID)
	if err != nil {
		return err
	}
	c := recent(o.list, func(c *chapter) bool { return c.fits(h.Transition, h.of) })
	if c == nil {
		c = newChapter(h.Transition, h.of)
		o.list = append(o.list, c)
	}
	c.rows.add(row)
	o.seen[h.ErrorID] = true
	return nil
}

func (o *historyBatch) save(t *tx) error {
	for _, c := range o.list {
		if err := c.save(t); err != nil {
			return err
		}
	}
	o.list = o.list[:0]
	clear(o.seen)
	return nil
}
