package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// Tallies is what happened in a transaction, by table and minute. The minute of what
// happened just now is zero until the time of the act is known.
type Tallies []Activity

// note adds a transition.
func (t *Tallies) note(before, next *recoup.Error, input lifecycle.Kind) {
	t.Note(before, next, input, 1)
}

// Note adds a transition that happened to n errors alike.
func (t *Tallies) Note(before, next *recoup.Error, input lifecycle.Kind, n int) {
	one := Tally(before, next, input)
	if one != (Activity{Table: next.Table}) {
		t.at(next.Table, time.Time{}).add(&one, int64(n))
	}
	t.moveMarks(before, next, int64(n))
}

// moveMarks takes n errors from the minutes of the marks that they had, and counts them in those
// of the marks that they have. A mark that was set by this transition is of now.
func (t *Tallies) moveMarks(before, next *recoup.Error, n int64) {
	var none recoup.Error
	if before == nil {
		before = &none
	}
	for _, m := range marks {
		was, is := m.of(before), m.of(next)
		if was.Equal(is) {
			continue
		}
		if !was.IsZero() {
			*m.count(t.at(before.Table, Minute(was))) -= n
		}
		if is.Equal(next.UpdatedAt) {
			*m.count(t.at(next.Table, time.Time{})) += n
		} else if !is.IsZero() {
			*m.count(t.at(next.Table, Minute(is))) += n
		}
	}
}

// marks are what an error is counted by, and where.
var marks = []struct {
	of    func(*recoup.Error) time.Time
	count func(*Activity) *int64
}{
	{func(e *recoup.Error) time.Time { return e.RetriedAt }, func(a *Activity) *int64 { return &a.Retried }},
	{func(e *recoup.Error) time.Time { return e.ExhaustedAt }, func(a *Activity) *int64 { return &a.Exhausted }},
	{outsideAt, func(a *Activity) *int64 { return &a.NotParked }},
	{func(e *recoup.Error) time.Time { return e.LastParkedAt }, func(a *Activity) *int64 { return &a.LastParked }},
	{func(e *recoup.Error) time.Time { return e.UnparkedAt }, func(a *Activity) *int64 { return &a.Unparked }},
	{func(e *recoup.Error) time.Time { return e.DeescalatedAt }, func(a *Activity) *int64 { return &a.Deescalated }},
}

// outsideAt is when an error that is not in the park queue was reported, or when it left the
// queue if that is later.
func outsideAt(e *recoup.Error) time.Time {
	switch {
	case e.Historic, !e.LastParkedAt.IsZero() && e.UnparkedAt.IsZero():
		return time.Time{}
	case e.UnparkedAt.After(e.CreatedAt):
		return e.UnparkedAt
	}
	return e.CreatedAt
}

// at is what is counted of a table in a minute.
func (t *Tallies) at(table string, minute time.Time) *Activity {
	for i := range *t {
		if a := &(*t)[i]; a.Table == table && a.Minute.Equal(minute) {
			return a
		}
	}
	*t = append(*t, Activity{Table: table, Minute: minute})
	return &(*t)[len(*t)-1]
}

// add adds n times what happened beside.
func (a *Activity) add(b *Activity, n int64) {
	for i := range ActivityCounts {
		to := ActivityCounts[i].Number(a)
		to.Set(to.Get() + n*ActivityCounts[i].Number(b).Get())
	}
}

// Of returns what happened as that of a minute, by the order of tables and minutes, without what
// comes to nothing.
func (t Tallies) Of(now time.Time) []Activity {
	var list Tallies
	for i := range t {
		a := &t[i]
		minute := a.Minute
		if minute.IsZero() {
			minute = Minute(now)
		}
		list.at(a.Table, minute).add(a, 1)
	}
	list = slices.DeleteFunc(list, func(a Activity) bool { return a == Activity{Table: a.Table, Minute: a.Minute} })
	slices.SortFunc(list, func(a, b Activity) int { return cmp.Or(strings.Compare(a.Table, b.Table), a.Minute.Compare(b.Minute)) })
	return list
}
