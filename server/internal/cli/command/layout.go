package command

import (
	"slices"
	"strings"
)

const gap = 2 // blanks between columns

// room is how much of it a table has.
type room struct {
	limit   int  // its width; 0: as much as it takes
	comfort int  // the width of a column that wraps below which others give way to it
	longest int  // word that a column has room for, whatever the others need
	strict  bool // no line is longer, if a word has to be broken for it
}

// layout is how a table fits its terminal.
type layout struct {
	shown  []int // columns, in their order
	below  []int // columns whose text follows each row on lines of its own
	widths []int // of all columns
	strict bool  // words that are wider than their column are broken
}

// lay finds the layout of cells. What has to give way does so in this order: text that
// wraps has less room, down to what is comfortable, columns are dropped, and at last
// text that wraps goes below its row.
func lay(columns []Column, cells [][]string, r room) layout {
	natural, least := measure(columns, cells, r)
	var below []int
	for {
		l := layout{widths: slices.Clone(natural), below: below, strict: r.strict}
		for i := range columns {
			if !slices.Contains(below, i) {
				l.shown = append(l.shown, i)
			}
		}
		if r.limit <= 0 {
			return l
		}
		l.drop(columns, least, r.limit)
		l.shrink(least, r.limit)
		last := l.lastThatWraps(columns)
		if !r.strict || last <= 0 || l.total(l.widths) <= r.limit {
			l.tighten(cells)
			return l
		}
		below = append([]int{last}, below...)
	}
}

// measure returns the widths that columns have if there is room, and those that they
// need.
func measure(columns []Column, cells [][]string, r room) (natural, least []int) {
	natural, least = make([]int, len(columns)), make([]int, len(columns))
	for i := range columns {
		word := 0
		for _, row := range cells {
			natural[i] = max(natural[i], width(row[i]))
			for part := range strings.FieldsSeq(row[i]) {
				word = max(word, min(width(part), r.longest))
			}
		}
		least[i] = natural[i]
		if columns[i].Wrap {
			least[i] = min(natural[i], max(r.comfort, word))
		}
	}
	return natural, least
}

// lastThatWraps is the last shown column that wraps; -1: none does.
func (l *layout) lastThatWraps(columns []Column) int {
	for _, i := range slices.Backward(l.shown) {
		if columns[i].Wrap {
			return i
		}
	}
	return -1
}

// total is how wide the shown columns are together.
func (l *layout) total(widths []int) int {
	sum := -gap
	for _, i := range l.shown {
		sum += widths[i] + gap
	}
	return sum
}

// drop takes columns away until the rest has room, the least important first. Those
// that still fit beside the rest come back, the most important first.
func (l *layout) drop(columns []Column, least []int, limit int) {
	order := slices.Clone(l.shown)
	slices.SortStableFunc(order, func(a, b int) int { return columns[b].Drop - columns[a].Drop })
	var dropped []int
	for _, i := range order {
		if columns[i].Drop == 0 || l.total(least) <= limit {
			break
		}
		l.shown = slices.DeleteFunc(l.shown, func(at int) bool { return at == i })
		dropped = append(dropped, i)
	}
	for _, i := range slices.Backward(dropped) {
		if l.total(least)+least[i]+gap <= limit {
			l.shown = append(l.shown, i)
		}
	}
	slices.Sort(l.shown)
}

// lines are those of a cell in its column.
func (l *layout) lines(cell string, column int) []string {
	room := l.widths[column]
	switch {
	case width(cell) <= room:
		return []string{cell}
	case l.strict:
		cell = breakWords(cell, room)
	}
	return wrap("", "", cell, room)
}

// tighten takes the room that no line of a column needs.
func (l *layout) tighten(cells [][]string) {
	for _, i := range l.shown {
		widest := 0
		for _, row := range cells {
			for _, line := range l.lines(row[i], i) {
				widest = max(widest, width(line))
			}
		}
		l.widths[i] = min(l.widths[i], widest)
	}
}

// shrink takes room from the widest columns that can spare it.
func (l *layout) shrink(least []int, limit int) {
	for l.total(l.widths) > limit {
		widest := -1
		for _, i := range l.shown {
			if l.widths[i] > least[i] && (widest < 0 || l.widths[i] > l.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		l.widths[widest]--
	}
}
