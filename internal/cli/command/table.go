package command

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"recoup"
)

// Table is rows for people. In a file or a pipe it is written in full. On a
// terminal that is too narrow for it columns give way, the least important first;
// what is shown is whole, and the last column goes on below itself.
type Table struct {
	streams Streams
	header  []string
	drop    []string
	rows    [][]string
}

// NewTable begins a table with the names of its columns.
func NewTable(s Streams, header ...string) *Table { return &Table{streams: s, header: header} }

// Drop names the columns that give way on a narrow terminal, the first one first.
func (t *Table) Drop(names ...string) *Table {
	t.drop = names
	return t
}

// Add adds a row. Cells come from others, so what would steer a terminal is
// taken out of them.
func (t *Table) Add(cells ...string) {
	for i, cell := range cells {
		cells[i] = cmp.Or(Printable(cell), "-")
	}
	t.rows = append(t.rows, cells)
}

const (
	gap      = 2  // blanks between columns
	narrow   = 16 // the least width of a column whose text goes on below itself
	colorEnd = "\x1b[0m"
)

func (t *Table) String() string {
	widths := t.widths()
	shown, room := t.fit(widths)
	var b strings.Builder
	for _, row := range append([][]string{t.header}, t.rows...) {
		t.write(&b, row, shown, widths, room)
	}
	return b.String()
}

// widths are those of the longest cells.
func (t *Table) widths() []int {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// fit returns the columns that are shown, and the room that the last of them has;
// 0: as much as it takes.
func (t *Table) fit(widths []int) (shown []int, room int) {
	total := -gap
	for i, width := range widths {
		shown, total = append(shown, i), total+width+gap
	}
	limit := t.streams.Width
	for _, name := range t.drop {
		if i := slices.Index(t.header, name); limit > 0 && total > limit && len(shown) > 1 {
			shown, total = slices.DeleteFunc(shown, func(at int) bool { return at == i }), total-widths[i]-gap
		}
	}
	last := widths[shown[len(shown)-1]]
	if over := total - limit; limit > 0 && over > 0 && last-over >= narrow {
		return shown, last - over
	}
	return shown, 0
}

func (t *Table) write(b *strings.Builder, row []string, shown, widths []int, room int) {
	last := len(shown) - 1
	var line strings.Builder
	margin := 0
	for _, i := range shown[:last] {
		line.WriteString(t.paint(row[i]) + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(row[i])+gap))
		margin += widths[i] + gap
	}
	lines := []string{row[shown[last]]}
	if room > 0 {
		lines = wrap("", "", row[shown[last]], room)
	}
	b.WriteString(line.String() + t.paint(lines[0]) + "\n")
	for _, more := range lines[1:] {
		b.WriteString(strings.Repeat(" ", margin) + more + "\n")
	}
}

// paint gives a state its colour.
func (t *Table) paint(cell string) string {
	color := stateColor(recoup.State(cell))
	if color == 0 || !t.streams.colored() {
		return cell
	}
	return fmt.Sprintf("\x1b[%dm%s%s", color, cell, colorEnd)
}

// colored reports whether colours are seen and wanted (no-color.org).
func (s Streams) colored() bool {
	return s.Width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func stateColor(s recoup.State) int {
	switch s {
	case recoup.Active:
		return 36 // cyan
	case recoup.RetryPending:
		return 33 // yellow
	case recoup.Parked:
		return 35 // magenta
	case recoup.Escalated:
		return 31 // red
	case recoup.Resolved:
		return 32 // green
	case recoup.Archived:
		return 90 // grey
	}
	return 0
}
