package command

import (
	"context"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
)

// List is a command that lists things.
type List[T any] struct {
	Noun  string // what one of them is called: "error"
	Key   string // what the list is called in JSON: "errors"
	Empty string // what is said if there is none; default "No error matches."
	Hint  string // what is said below the list

	Columns []string
	Drop    []string // the columns that give way on a narrow terminal, the first one first
	Row     func(s *Session, t *T) []string

	// Read reads the flags, once, before anything is fetched.
	Read func(s *Session, args []string) error

	// Fetch returns a page of the list and where the next one begins.
	Fetch func(ctx context.Context, s *Session, p client.Page) ([]T, string, error)
	Whole bool // the list has no pages: Fetch returns all of it

	// JSON is what programs get, if it is more than the list.
	JSON func(list []T) any

	// After says what there is to say below the table.
	After func(s *Session, list []T)

	On Runner // default OnServer
}

// The bounds of a page.
const (
	defaultRows = 50
	MaxRows     = 1000
)

// paging is how much of a list is wanted.
type paging struct {
	client.Page
	all bool
}

func (p *paging) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.Limit, "limit", defaultRows, "at most `N` rows, up to 1000")
	cmd.Flags().BoolVar(&p.all, "all", false, "every page, however many there are")
	cmd.Flags().StringVar(&p.Cursor, "cursor", "", "the page that begins at `CURSOR`, next in the JSON of the page before")
}

// Command makes cmd the command that lists.
func (l List[T]) Command(streams Streams, cmd *cobra.Command) *cobra.Command {
	var p paging
	if !l.Whole {
		p.add(cmd)
	}
	if cmd.Args == nil {
		cmd.Args = NoArgs
	}
	on := l.On
	if on == nil {
		on = OnServer
	}
	return on(streams, cmd, Many, func(ctx context.Context, s *Session, args []string) error {
		if !l.Whole {
			if err := Within("limit", p.Limit, 1, MaxRows); err != nil {
				return fmt.Errorf("%w; --all lists every page", err)
			}
		}
		if l.Read != nil {
			if err := l.Read(s, args); err != nil {
				return err
			}
		}
		list, next, err := l.fetch(ctx, s, p)
		if err != nil {
			return err
		}
		return l.print(s, list, next)
	})
}

// fetch reads one page, or all of them.
func (l *List[T]) fetch(ctx context.Context, s *Session, p paging) ([]T, string, error) {
	if p.all {
		p.Limit = MaxRows
	}
	advance, end := s.ShowProgress("reading")
	defer end()
	list := []T{}
	for {
		page, next, err := l.Fetch(ctx, s, p.Page)
		if list = append(list, page...); err != nil || !p.all || next == "" {
			return list, next, err
		}
		p.Cursor = next
		advance(len(list), -1)
	}
}

func (l *List[T]) print(s *Session, list []T, next string) error {
	switch {
	case s.format == asCSV:
		return l.csv(s, list)
	case s.Machine() && l.JSON != nil:
		return s.Print(l.JSON(list))
	case s.Machine():
		object := map[string]any{l.Key: list}
		if next != "" {
			object["next"] = next
		}
		return s.Print(object)
	case len(list) == 0 && l.Empty != "":
		s.Notef("%s", l.Empty)
		return nil
	case len(list) == 0:
		s.Notef("No %s matches.", l.Noun)
		return nil
	}
	t := NewTable(s.Streams, l.Columns...).Drop(l.Drop...)
	if s.format == asWide {
		t.Drop()
	}
	for i := range list {
		t.Add(l.Row(s, &list[i])...)
	}
	fmt.Fprint(s.Out, t)
	if !l.Whole || l.Hint != "" {
		more := "."
		if next != "" {
			more = "; there are more: --limit N or --all lists them."
		}
		s.Notef("\n%s", strings.TrimSpace(Count(len(list), l.Noun)+more+" "+l.Hint))
	}
	if l.After != nil {
		l.After(s, list)
	}
	return nil
}

func (l *List[T]) csv(s *Session, list []T) error {
	w := csv.NewWriter(s.Out)
	header := make([]string, len(l.Columns))
	for i, name := range l.Columns {
		header[i] = strings.ReplaceAll(strings.ToLower(name), " ", "_")
	}
	err := w.Write(header)
	for i := 0; i < len(list) && err == nil; i++ {
		row := l.Row(s, &list[i])
		for j := range row {
			row[j] = Inert(row[j])
		}
		err = w.Write(row)
	}
	if w.Flush(); err == nil {
		err = w.Error()
	}
	return err
}

// Inert puts an apostrophe before a cell that a spreadsheet would take for a formula
// and run.
func Inert(cell string) string {
	if cell != "" && strings.IndexByte("=+-@\t\r", cell[0]) >= 0 {
		return "'" + cell
	}
	return cell
}
