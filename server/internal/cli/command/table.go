package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup"
)

// Table is rows for people. In a file or a pipe it is written in full. On a
// terminal that is too narrow for it columns give way by their priority; what is
// shown is whole: texts go on below themselves, and ids are as long as it takes to
// tell them apart.
type Table struct {
	streams Streams
	columns []Column
	rows    []Cells
	wide    bool // all of it, however narrow the terminal is
}

// NewTable begins a table with its columns.
func NewTable(s Streams, columns ...Column) *Table { return &Table{streams: s, columns: columns} }

// Add adds a row.
func (t *Table) Add(cells ...any) { t.rows = append(t.rows, cells) }

func (t *Table) String() string {
	limit := t.streams.Width
	if t.wide {
		limit = 0
	}
	cells := t.cells(limit > 0)
	l := lay(t.columns, cells, inColumns(limit))
	var b strings.Builder
	for n, row := range cells {
		t.write(&b, l, row, n == 0)
		if n > 0 {
			t.writeBelow(&b, l, row, limit)
		}
	}
	return b.String()
}

// inColumns is the room of columns on a terminal.
func inColumns(limit int) room { return room{limit: limit, comfort: 28, longest: 40, strict: true} }

// nothing is what an empty cell shows.
const nothing = "-"

// cells are those of all rows as they are written, the names of the columns first.
// They come from others, so what would steer a terminal is taken out of them.
func (t *Table) cells(short bool) [][]string {
	header := make([]string, len(t.columns))
	lengths := make([]int, len(t.columns))
	for i := range t.columns {
		header[i] = t.columns[i].Name
		var ids []recoup.ID
		for _, row := range t.rows {
			if id, ok := row[i].(recoup.ID); ok && !id.IsZero() {
				ids = append(ids, id)
			}
		}
		lengths[i] = shorten(ids)
	}
	out := [][]string{header}
	for _, row := range t.rows {
		line := make([]string, len(row))
		for i, cell := range row {
			text := cellText(t.streams, cell)
			if id, ok := cell.(recoup.ID); ok && short && text != "" {
				text = end(id, lengths[i])
			}
			line[i] = cmp.Or(Printable(text), nothing)
		}
		out = append(out, line)
	}
	return out
}

// write writes a row, of as many lines as its longest text takes.
func (t *Table) write(b *strings.Builder, l layout, row []string, header bool) {
	parts := make([][]string, len(row))
	height := 1
	for _, i := range l.shown {
		parts[i] = l.lines(row[i], i)
		height = max(height, len(parts[i]))
	}
	for n := range height {
		at, begin := 0, 0
		for _, i := range l.shown {
			if n < len(parts[i]) {
				cell, from := parts[i][n], begin
				if t.figures(i) {
					from += l.widths[i] - width(cell)
				}
				b.WriteString(strings.Repeat(" ", max(from-at, 0)) + t.paint(i, row[i], cell, header))
				at = from + width(cell)
			}
			begin += l.widths[i] + gap
		}
		b.WriteByte('\n')
	}
}

// figures reports whether a column has numbers alone, which are aligned on the right.
func (t *Table) figures(column int) bool {
	for _, row := range t.rows {
		if _, ok := number(row[column]); !ok {
			return false
		}
	}
	return len(t.rows) > 0
}

// indent is before texts that stand below their row.
const indent = "    "

// writeBelow writes what has no room in a row, with the names of its columns.
func (t *Table) writeBelow(b *strings.Builder, l layout, row []string, limit int) {
	var parts []string
	for _, i := range l.below {
		if row[i] != nothing {
			parts = append(parts, strings.ToLower(t.columns[i].Name)+": "+row[i])
		}
	}
	for _, line := range wrap(indent, indent, strings.Join(parts, "; "), limit) {
		b.WriteString(line + "\n")
	}
}

// paint gives a state its colour.
func (t *Table) paint(column int, whole, part string, header bool) string {
	color := 0
	if t.columns[column].State && !header && t.streams.Colored() {
		color = stateColor(whole)
	}
	if color == 0 {
		return part
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, part)
}

// stateColor is the colour of a state, by its first word.
func stateColor(state string) int {
	word, _, _ := strings.Cut(state, " ")
	switch strings.ToUpper(strings.Trim(word, ",:")) {
	case "ESCALATED", "FIRING", "FAILED", "FAILS", "GIVEN_UP", "EXHAUSTED", "KILLED", "REVOKED", "BEHIND", "BACKING":
		return 31 // red
	case "RESOLVED", "DONE", "SUCCEEDED", "DELIVERED", "VALID", "OK", "UP":
		return 32 // green
	case "RETRY_PENDING", "PENDING", "WAITING", "RUNNING", "COLLECTING", "RELEASED", "IMPORTING":
		return 33 // yellow
	case "PARKED", "PAUSED", "FROZEN", "REPEATED", "EXPIRED":
		return 35 // magenta
	case "ACTIVE":
		return 36 // cyan
	case "ARCHIVED", "CANCELLED", "CANCELLING":
		return 90 // grey
	}
	return 0
}
