package command

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

// Column is one of a table.
type Column struct {
	Name string

	// Drop says when the column gives way on a terminal that is too narrow: the highest
	// first, and 0 never.
	Drop int

	Wrap  bool // its text goes on below itself
	State bool // it says how things stand, so it has a colour
}

// key is the column's name as a flag and CSV have it.
func (c *Column) key() string {
	name := strings.TrimSuffix(c.Name, " (UTC)") // programs get the zone with the time
	return strings.ReplaceAll(strings.ToLower(name), " ", "_")
}

// Cells are those of a row: texts, numbers, ids and moments. Each is written as fits
// what it is and where it goes, and sorted by what it is.
type Cells []any

// Figure is a number of which 0 is not shown.
type Figure int64

// Seconds is a span in a cell.
type Seconds int64

func (s Seconds) String() string { return stream.Age(time.Duration(s) * time.Second) }

// Moment is a time in a cell. People see how far away it is, with --utc when it is;
// programs see when it is.
type Moment struct {
	time.Time
	form func(Streams, time.Time) string
	none string
}

// Since is a moment shown as an age: 3h.
func Since(t time.Time) Moment { return Moment{Time: t, form: Streams.Ago} }

// At is a moment shown as how far away it is: 3h ago, in 5m.
func At(t time.Time) Moment { return Moment{Time: t, form: Streams.Relative} }

// Exactly is a moment that is always shown in full.
func Exactly(t time.Time) Moment {
	return Moment{Time: t, form: func(_ Streams, t time.Time) string { return stream.Stamp(t) }}
}

// Or is what is shown if there is no such moment.
func (m Moment) Or(none string) Moment {
	m.none = none
	return m
}

// cellText writes a cell for people.
func cellText(s Streams, cell any) string {
	switch v := cell.(type) {
	case Moment:
		if v.IsZero() {
			return v.none
		}
		return v.form(s, v.Time)
	case recoup.ID:
		return ID(v)
	case Figure:
		if v == 0 {
			return ""
		}
	}
	return fmt.Sprint(cell)
}

// cellValue writes a cell for programs.
func cellValue(s Streams, cell any) string {
	if m, ok := cell.(Moment); ok && !m.IsZero() {
		return m.UTC().Format(time.RFC3339)
	}
	return cellText(s, cell)
}

// number is the value of a cell that is one.
func number(cell any) (int64, bool) {
	if v := reflect.ValueOf(cell); v.IsValid() && v.CanInt() {
		return v.Int(), true
	}
	return 0, false
}

// compareCells orders two cells of a column; those that show nothing come last in either
// direction.
func compareCells(s Streams, a, b any, down bool) int {
	at, bt := cellText(s, a), cellText(s, b)
	if at == "" || bt == "" {
		return strings.Compare(bt, at)
	}
	if down {
		a, b, at, bt = b, a, bt, at
	}
	if m, ok := a.(Moment); ok {
		if n, ok := b.(Moment); ok {
			return m.Compare(n.Time)
		}
	}
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return cmp.Compare(x, y)
		}
	}
	return strings.Compare(at, bt)
}

// The lengths of an id that are shown: the least, its last group, and all of it.
const (
	shortID   = 6
	longestID = 12
	wholeID   = 36
)

// shorten returns how ids that are shown together are told apart: by the shortest end
// that is each one's own.
func shorten(ids []recoup.ID) (length int) {
	distinct := slices.Clone(ids)
	slices.SortFunc(distinct, func(a, b recoup.ID) int { return strings.Compare(a.String(), b.String()) })
	distinct = slices.Compact(distinct)
	for length = shortID; length <= longestID; length++ {
		ends := map[string]bool{}
		for _, id := range distinct {
			ends[end(id, length)] = true
		}
		if len(ends) == len(distinct) {
			return length
		}
	}
	return wholeID
}

// end is the last part of an id.
func end(id recoup.ID, length int) string {
	text := id.String()
	return text[len(text)-length:]
}

// width is how many columns of a terminal a text takes.
func width(s string) int { return utf8.RuneCountInString(s) }
