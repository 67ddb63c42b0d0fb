package command

import (
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

// The widths to which text is wrapped: of pages for people, and of help.
const (
	PageWidth = 100
	HelpWidth = 80
)

// margin is before what stands below a heading.
const margin = "  "

// Page collects text for people, as a manual page has it. Its texts come from others, so what would
// steer a terminal is taken out of all but verbatim lines.
type Page struct {
	strings.Builder
	Width int // of the terminal that it is for; 0: it is for none
}

// width is that of its lines, which nobody reads if they are much longer.
func (p *Page) width() int {
	if p.Width > 0 {
		return min(p.Width, PageWidth)
	}
	return PageWidth
}

// Heading begins a part.
func (p *Page) Heading(s string) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	p.WriteString(stream.Visible(s) + "\n")
}

// Text writes a paragraph.
func (p *Page) Text(s string) { p.Wrap(margin, margin, s) }

// List writes items, each with a dash.
func (p *Page) List(items []string) {
	for _, item := range items {
		p.Wrap("  - ", "    ", item)
	}
}

// Facts writes names with their values, given in pairs; those without a value are
// left out.
func (p *Page) Facts(pairs ...string) {
	var rows [][]string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			rows = append(rows, []string{pairs[i], Printable(pairs[i+1])})
		}
	}
	p.Columns(rows...)
}

// Columns prints rows of cells, aligned and indented. What does not fit the page
// goes on below itself, but for the names in the first column.
func (p *Page) Columns(rows ...[]string) {
	if len(rows) == 0 {
		return
	}
	p.columns(rows, room{comfort: 1, longest: p.width() / 2})
}

// Grid is Columns below their names, which are the first row. On a narrow terminal the
// last columns go below their row.
func (p *Page) Grid(rows ...[]string) {
	p.columns(rows, room{comfort: 1, longest: p.width() / 2, strict: p.Width > 0})
}

func (p *Page) columns(rows [][]string, r room) {
	rows = printableRows(rows)
	r.limit = p.width() - len(margin)
	t := Table{columns: make([]Column, len(rows[0]))}
	for i, name := range rows[0] {
		t.columns[i] = Column{Name: name, Wrap: i > 0}
	}
	l := lay(t.columns, rows, r)
	var b strings.Builder
	for n, row := range rows {
		t.write(&b, l, row, false)
		if n > 0 {
			t.writeBelow(&b, l, row, r.limit)
		}
	}
	p.Verbatim(b.String())
}

// Figures prints rows whose first cell is a name and whose others are numbers,
// which are aligned on the right.
func (p *Page) Figures(rows ...[]string) {
	rows = printableRows(rows)
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(p, margin+"%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(p, "  %*s", widths[i+1], cell)
		}
		p.WriteByte('\n')
	}
}

// printableRows is [Printable] for every cell.
func printableRows(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for n, row := range rows {
		out[n] = make([]string, len(row))
		for i, cell := range row {
			out[n][i] = Printable(cell)
		}
	}
	return out
}

// Verbatim writes lines as they are, indented. They must be printable.
func (p *Page) Verbatim(s string) {
	for line := range strings.Lines(s) {
		p.WriteString(margin + line)
	}
}

// Table writes a table, indented.
func (p *Page) Table(t *Table) {
	if t.streams.Width > 0 {
		t.streams.Width -= len(margin)
	}
	p.Verbatim(t.String())
}

// Wrap writes s with one margin before its first line and another, of the same
// width, before the lines that follow.
func (p *Page) Wrap(first, rest, s string) {
	for _, line := range wrap(first, rest, stream.Visible(s), p.width()) {
		p.WriteString(line + "\n")
	}
}

// wrap breaks a text between its words into lines of at most that width; an empty one
// has no lines.
func wrap(first, rest, s string, most int) (lines []string) {
	if s == "" {
		return nil
	}
	line, room := first, most-width(first)
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
		case room > width(word):
			line, room = line+" ", room-1
		default:
			lines = append(lines, line)
			line, room = rest, most-width(rest)
		}
		line, room = line+word, room-width(word)
	}
	return append(lines, line)
}

// breakWords puts blanks into words that are longer than most.
func breakWords(s string, most int) string {
	words := strings.Fields(s)
	for i, word := range words {
		var parts []string
		for letters := []rune(word); len(letters) > 0; letters = letters[min(most, len(letters)):] {
			parts = append(parts, string(letters[:min(most, len(letters))]))
		}
		words[i] = strings.Join(parts, " ")
	}
	return strings.Join(words, " ")
}

// wrapLines wraps each line of a text that is too long.
func wrapLines(text string, most int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if width(line) <= most {
			out = append(out, line)
			continue
		}
		out = append(out, wrap("", "", line, most)...)
	}
	return strings.Join(out, "\n")
}

// WrapHelp wraps the paragraphs of a help text. Lines that are indented stay as
// they are.
func WrapHelp(text string) string {
	var out, paragraph []string
	flush := func() {
		out, paragraph = append(out, wrap("", "", strings.Join(paragraph, " "), HelpWidth)...), nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		out = append(out, line)
	}
	flush()
	return strings.Join(out, "\n")
}
