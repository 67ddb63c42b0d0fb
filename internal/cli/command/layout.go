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
	narrow  int  // the least width of a column that wraps
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
	l := layout{widths: make([]int, len(columns)), strict: r.strict}
	words := make([]int, len(columns))
	for i := range columns {
		l.shown = append(l.shown, i)
		for _, row := range cells {
			l.widths[i] = max(l.widths[i], width(row[i]))
			for word := range strings.FieldsSeq(row[i]) {
				words[i] = max(words[i], min(width(word), r.longest))
			}
		}
	}
	if r.limit <= 0 {
		return l
	}
	least := func(floor int) []int {
		out := slices.Clone(l.widths)
		for i, c := range columns {
			if c.Wrap {
				out[i] = min(out[i], max(floor, words[i]))
			}
		}
		return out
	}
	l.drop(columns, least(r.comfort), r.limit)
	l.shrink(least(r.comfort), r.limit)
	l.shrink(least(r.narrow), r.limit)
	if r.strict {
		l.putBelow(columns, r.limit)
	}
	return l
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

// putBelow takes texts that wrap out of rows that have no room for them.
func (l *layout) putBelow(columns []Column, limit int) {
	for at := len(l.shown) - 1; at > 0 && l.total(l.widths) > limit; at-- {
		if i := l.shown[at]; columns[i].Wrap {
			l.below = slices.Insert(l.below, 0, i)
			l.shown = slices.Delete(l.shown, at, at+1)
		}
	}
}
