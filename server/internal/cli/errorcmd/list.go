package errorcmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// openColumns are those of errors that are open.
var openColumns = []command.Column{
	{Name: "ID"}, {Name: "TABLE", Drop: 4}, {Name: "ENTITY", Drop: 1}, {Name: "CODE"}, {Name: "STATE", State: true}, {Name: "OWNER", Drop: 3},
	{Name: "CREATED", Drop: 5}, {Name: "NEXT", Drop: 2},
}

func list(streams command.Streams) *cobra.Command {
	var flags filter
	var archived bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List open errors, newest first",
		Long: `Lists open errors, newest first. With --parked and no other filter than --table or --hub
it is the park queue: those that have waited longest come first. With --archived it is the
archive of a table.`,
		Example: `  recoup errors list --table app.errors --state PARKED
  recoup errors list --blocking --before 48h --all --json
  recoup errors list --text "connection refused"
  recoup errors list --view "parked too long"
  recoup errors list --archived --table app.errors`,
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&archived, "archived", false, "the archive of the --table, last archived first")
	var f recoup.ErrorFilter
	var partial bool
	columns := slices.Clone(openColumns)
	return command.List[recoup.Error]{
		Noun: "error", Key: "errors", Hint: "'recoup errors explain ID' explains one.", Columns: columns,
		Read: func(s *command.Session, _ []string) (err error) {
			if f, err = flags.read(s.Clock()); err != nil || !archived {
				return err
			}
			columns[4], columns[5], columns[7] = command.Column{Name: "REASON"}, command.Column{Name: "BY", Drop: 3}, command.Column{Name: "ARCHIVED", Drop: 1}
			return checkArchived(f, flags.asks())
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.Error, string, error) {
			selected, err := flags.find(ctx, s, f)
			if err != nil {
				return nil, "", err
			}
			page, err := fetch(ctx, s, selected, archived, p)
			partial = page.Truncated
			return page.Errors, page.Next, err
		},
		After: func(s *command.Session, _ []recoup.Error) {
			if partial {
				s.Notef("The search has left groups of errors out: there may be more. Narrow it, with --table or more words.")
			}
		},
		Row: func(s *command.Session, e *recoup.Error) command.Cells {
			row := command.Cells{e.ID, e.Table, e.EntityID, e.Code, e.State, e.Owner(), command.At(e.CreatedAt), upNext(s.Streams, e)}
			if archived {
				row[4], row[5], row[7] = e.ArchiveReason, e.ArchivedBy, command.At(e.ArchivedAt)
			}
			return row
		},
	}.Command(streams, cmd)
}

func checkArchived(f recoup.ErrorFilter, asks bool) error {
	switch {
	case f.Table == "":
		return command.Usagef("--archived needs --table: each table has an archive of its own")
	case asks || f != recoup.ErrorFilter{Table: f.Table}:
		return command.Usagef("--archived lists the archive of a --table, and takes no other filter")
	}
	return nil
}

func fetch(ctx context.Context, s *command.Session, f recoup.ErrorFilter, archived bool, p client.Page) (recoup.ErrorPage, error) {
	queue := f.Parked != nil && *f.Parked && f == recoup.ErrorFilter{Table: f.Table, Hub: f.Hub, Parked: f.Parked}
	switch {
	case archived:
		return s.Errors.Archived(ctx, f.Table, p)
	case queue:
		return s.Errors.Parked(ctx, recoup.ParkedFilter{Table: f.Table, Hub: f.Hub}, p)
	}
	return s.Errors.List(ctx, f, p)
}

func history(streams command.Streams) *cobra.Command {
	var id recoup.ID
	return command.List[recoup.Transition]{
		Noun: "transition", Key: "transitions", Whole: true,
		Columns: []command.Column{
			{Name: "TIME (UTC)"}, {Name: "WHAT"}, {Name: "BY", Drop: 1, Wrap: true}, {Name: "STATE", State: true}, {Name: "TRIES", Drop: 3}, {Name: "TIER", Drop: 2},
			{Name: "OWNER", Drop: 4}, {Name: "REASON", Wrap: true},
		},
		Read: func(s *command.Session, args []string) (err error) {
			id, err = s.ID(recoup.ErrorIDs, args)
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) ([]recoup.Transition, string, error) {
			rows, err := s.Errors.History(ctx, id)
			return rows, "", err
		},
		Row: func(_ *command.Session, r *recoup.Transition) command.Cells {
			by := r.Actor
			if r.Worker != "" {
				by = r.Worker
			}
			return command.Cells{command.Exactly(r.At), r.Input, by, r.After.State,
				command.Figure(r.After.RetryCount), command.Figure(r.After.EscalationLevel), r.After.Owner, r.Reason}
		},
	}.Command(streams, &cobra.Command{
		Use:     "history ID",
		Short:   "Show an error's transitions: what happened, by whom and why",
		Example: `  recoup errors history ` + command.AnID,
		Args:    command.ExactArgs("ID"),
	})
}
