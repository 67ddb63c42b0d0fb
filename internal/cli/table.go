package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"recoup"
)

// table is rows for people. On a terminal its columns are cut to the width, and
// states have colours; in a file or a pipe it is written in full.
type table struct {
	streams Streams
	rows    [][]string // the first is the header
	text    string     // a column that may be cut although its name is in uncut
}

func newTable(s Streams, header ...string) *table {
	return &table{streams: s, rows: [][]string{header}}
}

// prose says that the column of a name holds text here, which may be cut.
func (t *table) prose(name string) *table {
	t.text = name
	return t
}

// uncut are the columns that are useless in part: what a person copies, and what
// is short anyway.
var uncut = []string{"ID", "ERROR", "STATE", "AGE", "SINCE", "ERRORS", "TIME (UTC)"}

// add adds a row. Cells come from others, so what would steer a terminal is
// taken out of them.
func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = cmp.Or(printable(cell), "-")
	}
	t.rows = append(t.rows, cells)
}

// printable replaces what is not seen: control characters, and those that change
// the direction of what follows.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, s)
}

const gap = 2 // blanks between columns

func (t *table) String() string {
	widths := t.widths()
	var b strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			cell = cut(cell, widths[i])
			line.WriteString(t.paint(cell))
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+gap))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// widths are those of the longest cells. If that is too much for the terminal,
// the widest columns give way first.
func (t *table) widths() []int {
	widths := make([]int, len(t.rows[0]))
	total := -gap
	for i := range widths {
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i] + gap
	}
	for ; t.streams.Width > 0 && total > t.streams.Width; total-- {
		i := t.widest(widths)
		if i < 0 {
			break // it cannot be narrower and still be of use
		}
		widths[i]--
	}
	return widths
}

// narrowest is the width below which a cell says nothing any more.
const narrowest = 4

// widest returns the widest column that may be cut, or -1.
func (t *table) widest(widths []int) int {
	widest := -1
	for i, width := range widths {
		name := t.rows[0][i]
		if width > narrowest && (name == t.text || !slices.Contains(uncut, name)) && (widest < 0 || width > widths[widest]) {
			widest = i
		}
	}
	return widest
}

// cut shortens a text to a width, and shows that it did: a sentence at its end,
// a name in its middle, because names often differ in their last letters.
func cut(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	tail := (width - 1) / 2
	if strings.Contains(s, " ") {
		tail = 0
	}
	return string(runes[:width-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// paint gives a state its colour.
func (t *table) paint(cell string) string {
	color := stateColor(recoup.State(cell))
	if color == 0 || !t.streams.colored() {
		return cell
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, cell)
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
