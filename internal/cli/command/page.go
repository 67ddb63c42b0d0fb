package command

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The widths to which text is wrapped: of pages for people, and of help.
const (
	PageWidth = 100
	HelpWidth = 80
)

// Page collects text for people, as a manual page has it.
type Page struct{ strings.Builder }

// Heading begins a part.
func (p *Page) Heading(s string) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	p.WriteString(s + "\n")
}

// Text writes a paragraph.
func (p *Page) Text(s string) { p.Wrap("  ", "  ", s) }

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

// Columns prints rows of cells, aligned and indented. What does not fit the
// page in the last column goes on below itself.
func (p *Page) Columns(rows ...[]string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		var margin strings.Builder
		margin.WriteString("  ")
		for i, width := range widths {
			fmt.Fprintf(&margin, "%-*s  ", width, row[i])
		}
		p.Wrap(margin.String(), strings.Repeat(" ", utf8.RuneCountInString(margin.String())), row[len(widths)])
	}
}

// Figures prints rows whose first cell is a name and whose others are numbers,
// which are aligned on the right.
func (p *Page) Figures(rows ...[]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(p, "  %-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(p, "  %*s", widths[i+1], cell)
		}
		p.WriteByte('\n')
	}
}

// Verbatim writes lines as they are, indented.
func (p *Page) Verbatim(s string) {
	for line := range strings.Lines(s) {
		p.WriteString("  " + line)
	}
}

// Wrap writes s with one margin before its first line and another, of the same
// width, before the lines that follow.
func (p *Page) Wrap(first, rest, s string) {
	for _, line := range wrap(first, rest, s, PageWidth) {
		p.WriteString(line + "\n")
	}
}

// wrap breaks a text between its words into lines of a width; one of none has no
// lines.
func wrap(first, rest, s string, width int) (lines []string) {
	if s == "" {
		return nil
	}
	line, room := first, width-len(first)
	for i, word := range strings.Fields(s) {
		switch {
		case i == 0:
		case room > len(word):
			line, room = line+" ", room-1
		default:
			lines = append(lines, line)
			line, room = rest, width-len(rest)
		}
		line, room = line+word, room-len(word)
	}
	return append(lines, line)
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
