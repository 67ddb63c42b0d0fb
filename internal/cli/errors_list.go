package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

// paging is how much of a list is wanted.
type paging struct {
	limit int
	all   bool
}

// The bounds of a page.
const (
	defaultRows = 50
	maxRows     = 1000
)

func (p *paging) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", defaultRows, "at most `N` rows, up to 1000")
	cmd.Flags().BoolVar(&p.all, "all", false, "all rows, however many there are")
}

func (p *paging) check() error {
	if p.limit < 1 || p.limit > maxRows {
		return usagef("--limit is %d: expected a number from 1 to %d; --all gives all rows", p.limit, maxRows)
	}
	return nil
}

func errorsList(streams Streams) *cobra.Command {
	var filter errorFilter
	var pages paging
	var archived bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List open errors, newest first",
		Long: `Lists open errors, newest first. With --parked and no other filter than --table or --hub
it is the park queue: those that have waited longest come first. With --archived it is the
archive of a table.`,
		Example: `  recoup errors list --table outreach.dol_errors --state PARKED
  recoup errors list --blocking --before 48h --all --json
  recoup errors list --archived --table outreach.dol_errors`,
		Args: noArgs,
	}
	filter.add(cmd)
	pages.add(cmd)
	cmd.Flags().BoolVar(&archived, "archived", false, "the archive of the --table, last archived first")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		f, err := filter.read(s.now())
		if err != nil {
			return err
		}
		if err := errors.Join(pages.check(), checkArchived(archived, f)); err != nil {
			return err
		}
		list, err := s.errorPage(ctx, f, archived, pages)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		}
		s.printErrors(list, archived)
		return nil
	})
}

func checkArchived(archived bool, f client.Filter) error {
	switch {
	case !archived:
		return nil
	case f.Table == "":
		return usagef("--archived needs --table: each table has an archive of its own")
	case f != client.Filter{Table: f.Table}:
		return usagef("--archived lists the archive of a --table, and knows no other filter")
	}
	return nil
}

// errorPage reads one page, or all of them.
func (s *session) errorPage(ctx context.Context, f client.Filter, archived bool, p paging) (client.ErrorPage, error) {
	queue := client.ParkedFilter{Table: f.Table, Hub: f.Hub}
	waiting := f.Parked != nil && *f.Parked && f == client.Filter{Table: f.Table, Hub: f.Hub, Parked: f.Parked}
	page := client.Page{Limit: p.limit}
	switch {
	case archived && p.all:
		return s.collect(s.AllArchived(ctx, f.Table))
	case archived:
		return s.Archived(ctx, f.Table, page)
	case waiting && p.all:
		return s.collect(s.AllParked(ctx, queue))
	case waiting:
		return s.Parked(ctx, queue, page)
	case p.all:
		return s.collect(s.AllErrors(ctx, f))
	}
	return s.Errors(ctx, f, page)
}

// collect reads all pages.
func (s *session) collect(rows iter.Seq2[recoup.Error, error]) (client.ErrorPage, error) {
	advance, end := s.progress("reading")
	defer end()
	page := client.ErrorPage{Errors: []recoup.Error{}}
	for e, err := range rows {
		if err != nil {
			return page, err
		}
		page.Errors = append(page.Errors, e)
		advance(len(page.Errors), -1)
	}
	return page, nil
}

func (s *session) printErrors(list client.ErrorPage, archived bool) {
	if len(list.Errors) == 0 {
		fmt.Fprintln(s.Err, "No error matches.")
		return
	}
	t := newTable(s.Streams, "ID", "TABLE", "ENTITY", "CODE", "STATE", "OWNER", "AGE", "NEXT")
	if archived {
		t = newTable(s.Streams, "ID", "TABLE", "ENTITY", "CODE", "REASON", "BY", "AGE", "ARCHIVED")
	}
	for i := range list.Errors {
		e := &list.Errors[i]
		row := []string{e.ID.String(), e.Table, e.EntityID, string(e.Code)}
		if archived {
			row = append(row, string(e.ArchiveReason), e.ArchivedBy, s.ago(e.CreatedAt), s.relative(e.ArchivedAt))
		} else {
			row = append(row, string(e.State), e.Owner(), s.ago(e.CreatedAt), s.upNext(e))
		}
		t.add(row...)
	}
	fmt.Fprint(s.Out, t)
	more := "."
	if list.Next != "" {
		more = "; there are more: --limit N or --all shows them."
	}
	fmt.Fprintf(s.Err, "\n%s%s 'recoup errors explain ID' explains one.\n", count(len(list.Errors), "error"), more)
}
