package errorcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func operations(streams command.Streams) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "operations",
		Short: "Watch, pause and cancel bulk operations on errors",
		Long: `An operation is one act on a set of errors that was frozen before anybody confirmed it. The
server carries it out and keeps the result of each. The acts of 'recoup errors' begin one when
they are given a filter.`,
		Example: `  recoup operations list --state RUNNING
  recoup operations show ` + command.AnID + ` --items REFUSED`,
	}, operationsList(streams), operationsShow(streams), operationsConfirm(streams))
	for _, act := range []command.Verb[recoup.Operation]{
		{Name: "pause", Past: "paused", Short: "Pause an operation; what is done stays done", Do: func(c *client.Client) command.ForReason[recoup.Operation] { return c.Operations.Pause }},
		{Name: "resume", Past: "resumed", Short: "Resume a paused operation where it stood", Do: func(c *client.Client) command.ForReason[recoup.Operation] { return c.Operations.Resume }},
		{Name: "cancel", Past: "cancelled", Short: "Cancel an operation; errors without a result are as before", Do: func(c *client.Client) command.ForReason[recoup.Operation] { return c.Operations.Cancel }},
	} {
		act.Of, act.Line = recoup.OperationIDs, operationLine
		cmd.AddCommand(act.Command(streams))
	}
	return cmd
}

// operationLine says in one line how far an operation has come.
func operationLine(o *recoup.Operation) string {
	line := fmt.Sprintf("%s: %s %s, %d applied, %d refused, %d left", strings.ToLower(string(o.State)), o.Act, command.Count(o.Members, "error"), o.Applied, o.Refused, o.Pending())
	if o.Why != "" {
		line += "; " + command.Printable(o.Why)
	}
	return line
}

func operationsList(streams command.Streams) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operations, newest first",
		Example: `  recoup operations list
  recoup operations list --state PAUSED`,
	}
	var states []string
	for _, s := range recoup.OperationStates() {
		states = append(states, string(s))
	}
	cmd.Flags().StringVar(&state, "state", "", "only those in this `STATE`: "+strings.Join(states, ", "))
	return command.List[recoup.Operation]{
		Noun: "operation", Key: "operations",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "STATE", State: true}, {Name: "ACT"}, {Name: "ERRORS"}, {Name: "APPLIED"}, {Name: "REFUSED"},
			{Name: "BY", Drop: 3}, {Name: "CREATED", Drop: 2}, {Name: "REASON", Wrap: true},
		},
		Read: func(*command.Session, []string) (err error) {
			state, err = command.OneOf("state", state, states)
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.Operation, string, error) {
			page, err := s.Operations.List(ctx, state, p)
			return page.Operations, page.Next, err
		},
		Row: func(_ *command.Session, o *recoup.Operation) command.Cells {
			return command.Cells{o.ID, o.State, o.Act, o.Members, o.Applied, o.Refused, o.CreatedBy, command.At(o.CreatedAt), o.Input.Reason}
		},
	}.Command(streams, cmd)
}

func operationsShow(streams command.Streams) *cobra.Command {
	var items string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show an operation and the results of its errors",
		Example: `  recoup operations show ` + command.AnID + `
  recoup operations show ` + command.AnID + ` --items REFUSED`,
		Args: command.ExactArgs("ID"),
	}
	results := []string{"PENDING", "APPLIED", "REFUSED"}
	cmd.Flags().StringVar(&items, "items", "", "list the errors with this `RESULT`: "+strings.Join(results, ", "))
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		id, err := s.ID(recoup.OperationIDs, args)
		if err != nil {
			return err
		}
		result, err := command.OneOf("items", items, results)
		if err != nil {
			return err
		}
		o, err := s.Operations.Get(ctx, id)
		switch {
		case err != nil:
			return err
		case result != "":
			return printMembers(ctx, s, id, result)
		case s.Machine():
			return s.Print(o)
		}
		p := command.Page{Width: s.Width}
		p.Heading("Operation " + o.ID.String())
		p.Facts("progress", operationLine(&o), "reason", o.Input.Reason, "filter", command.Printable(string(o.Filter)), "by", o.CreatedBy, "created", s.When(o.CreatedAt),
			"confirmed by", o.ConfirmedBy, "confirmed", s.When(o.ConfirmedAt), "ended", s.When(o.EndedAt))
		s.Sayf("%s", strings.TrimSuffix(p.String(), "\n"))
		return nil
	})
}

func printMembers(ctx context.Context, s *command.Session, id recoup.ID, result string) error {
	items := recoup.OperationItems{Items: []recoup.OperationItem{}}
	for more := true; more; {
		part, err := s.Operations.Items(ctx, id, result, items.Next, command.MaxRows)
		if err != nil {
			return err
		}
		items.Items, items.Next = append(items.Items, part.Items...), part.Next
		more = part.Next > 0
	}
	if s.Machine() {
		return s.Print(items)
	}
	t := command.NewTable(s.Streams, command.Column{Name: "ERROR"}, command.Column{Name: "RESULT"}, command.Column{Name: "ENDED", Drop: 1},
		command.Column{Name: "CODE", Drop: 2}, command.Column{Name: "REASON", Wrap: true})
	for i := range items.Items {
		m := &items.Items[i]
		t.Add(m.ErrorID, m.Result, command.At(m.EndedAt), m.Code, m.Reason)
	}
	fmt.Fprint(s.Out, t)
	return nil
}

func operationsConfirm(streams command.Streams) *cobra.Command {
	var said recoup.Act
	var id recoup.ID
	cmd := &cobra.Command{
		Use:     "confirm ID",
		Short:   "Confirm a frozen operation: the server carries it out",
		Example: "  recoup operations confirm " + command.AnID + " --reason outage",
		Args:    command.ExactArgs("ID"),
	}
	cmd.Flags().StringVar(&said.To, "to", "", "of assign: the new `OWNER`")
	return command.Act[recoup.Operation]{
		Reason: &said.Reason,
		Check: func(s *command.Session, args []string) (err error) {
			id, err = s.ID(recoup.OperationIDs, args)
			return err
		},
		Call: func(ctx context.Context, s *command.Session, _ []string) (recoup.Operation, error) {
			return s.Operations.Confirm(ctx, id, said)
		},
		Say: func(s *command.Session, o recoup.Operation) { s.Sayf("%s confirmed; %s", o.ID, operationLine(&o)) },
	}.Command(streams, cmd)
}
