package command

import (
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
)

// List is a command that lists things.
type List[T any] struct {
	Noun  string // what one of them is called: "error"
	Key   string // what the list is called in JSON: "errors"
	Empty string // what is said if there is none; default "No error matches."
	Hint  string // what is said below the list

	Columns []Column
	Row     func(s *Session, t *T) Cells

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

// viewing is how much of a list is wanted, and how.
type viewing struct {
	client.Page
	Watch
	all  bool
	sort string
	utc  bool
}

func (v *viewing) add(cmd *cobra.Command, columns []Column, whole bool) {
	if !whole {
		cmd.Flags().IntVar(&v.Limit, "limit", defaultRows, "at most `N` rows, up to 1000")
		cmd.Flags().BoolVar(&v.all, "all", false, "every page, however many there are")
		cmd.Flags().StringVar(&v.Cursor, "cursor", "", "the page that begins at `CURSOR`, next in the JSON of the page before")
	}
	cmd.Flags().StringVar(&v.sort, "sort", "", "sort what is listed by `COLUMN`, such as "+columns[0].key()+"; -"+columns[0].key()+" is descending")
	cmd.Flags().BoolVar(&v.utc, "utc", false, "show when things happened in UTC, not how long ago")
	v.Add(cmd)
}

// Command makes cmd the command that lists.
func (l List[T]) Command(streams Streams, cmd *cobra.Command) *cobra.Command {
	var v viewing
	v.add(cmd, l.Columns, l.Whole)
	if cmd.Args == nil {
		cmd.Args = NoArgs
	}
	on := l.On
	if on == nil {
		on = OnServer
	}
	return on(streams, cmd, Many, func(ctx context.Context, s *Session, args []string) error {
		if !l.Whole {
			if err := Within("limit", v.Limit, 1, MaxRows); err != nil {
				return fmt.Errorf("%w; --all lists every page", err)
			}
		}
		s.UTC = v.utc || s.format == asCSV
		if l.Read != nil {
			if err := l.Read(s, args); err != nil {
				return err
			}
		}
		order, err := ordering(v.sort, l.Columns)
		if err != nil {
			return err
		}
		return v.Run(ctx, s, func() error {
			list, next, err := l.fetch(ctx, s, v)
			if err != nil {
				return err
			}
			return l.print(s, list, next, order)
		})
	})
}

// fetch reads one page, or all of them.
func (l *List[T]) fetch(ctx context.Context, s *Session, v viewing) ([]T, string, error) {
	if v.all {
		v.Limit = MaxRows
	}
	advance, end := s.ShowProgress("reading")
	defer end()
	list := []T{}
	for {
		page, next, err := l.Fetch(ctx, s, v.Page)
		if list = append(list, page...); err != nil || !v.all || next == "" {
			return list, next, err
		}
		v.Cursor = next
		advance(len(list), -1)
	}
}

func (l *List[T]) print(s *Session, list []T, next string, by order) error {
	rows := sorted(s.Streams, list, by, func(t *T) Cells { return l.Row(s, t) })
	switch {
	case s.format == asCSV:
		return l.csv(s, rows)
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
	fmt.Fprint(s.Out, &Table{streams: s.Streams, columns: s.keepTime(l.Columns, rows[0]), rows: rows, wide: s.format == asWide})
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

// keepTime keeps the first column of times from giving way where --utc asks for them.
func (s *Session) keepTime(columns []Column, row Cells) []Column {
	i := slices.IndexFunc(row, func(cell any) bool { _, ok := cell.(Moment); return ok })
	if !s.UTC || i < 0 {
		return columns
	}
	columns = slices.Clone(columns)
	columns[i].Drop = 0
	return columns
}

func (l *List[T]) csv(s *Session, rows []Cells) error {
	w := csv.NewWriter(s.Out)
	header := make([]string, len(l.Columns))
	for i := range l.Columns {
		header[i] = l.Columns[i].key()
	}
	err := w.Write(header)
	for i := 0; i < len(rows) && err == nil; i++ {
		line := make([]string, len(rows[i]))
		for j, cell := range rows[i] {
			line[j] = Inert(cellValue(s.Streams, cell))
		}
		err = w.Write(line)
	}
	if w.Flush(); err == nil {
		err = w.Error()
	}
	return err
}
