package deadletters

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func replays(streams command.Streams) *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "replays",
		Short: "Watch, pause and cancel replays of dead letters",
		Long: `A replay sends dead letters back to work, at a rate and in a ramp, and keeps the outcome of
each. 'recoup dead-letters replay' begins one.`,
		Example: `  recoup replays list --state RUNNING
  recoup replays watch ` + command.AnID,
	}, replaysList(streams), replaysShow(streams), replaysWatch(streams))
	for _, act := range []command.Verb[recoup.Replay]{
		{Name: "pause", Past: "paused", Short: "Pause a replay; what workers have claimed goes on", Do: func(c *client.Client) command.ForReason[recoup.Replay] { return c.Replays.Pause }},
		{Name: "resume", Past: "resumed", Short: "Resume a paused replay; one that stopped itself ramps up again", Do: func(c *client.Client) command.ForReason[recoup.Replay] { return c.Replays.Resume }},
		{Name: "cancel", Past: "cancelled", Short: "Cancel a replay; what no worker has claimed is as before", Do: func(c *client.Client) command.ForReason[recoup.Replay] { return c.Replays.Cancel }},
	} {
		act.Of, act.Line = recoup.ReplayIDs, replayLine
		cmd.AddCommand(act.Command(streams))
	}
	return cmd
}

// replayLine says in one line how far a replay has come.
func replayLine(r *recoup.Replay) string {
	c := r.Counts
	line := fmt.Sprintf("%s: %d of %d ended, %d succeeded, %d failed", strings.ToLower(string(r.State)), c.Ended(), r.Members, c.Succeeded, c.Failed+c.Repeated)
	for _, rare := range []struct {
		n    int64
		what string
	}{{c.Cancelled, "cancelled"}, {c.Archived, "archived"}} {
		if rare.n > 0 {
			line += fmt.Sprintf(", %d %s", rare.n, rare.what)
		}
	}
	if r.Step != "" && !r.Over() {
		line += ", stage " + r.Step
	}
	if c.Released > 0 {
		line += fmt.Sprintf(", %d in flight", c.Released)
	}
	if r.Why != "" {
		line += "; " + command.Printable(r.Why)
	}
	return line
}

func replaysList(streams command.Streams) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List replays, newest first",
		Example: `  recoup replays list
  recoup replays list --state PAUSED`,
	}
	states := []string{"COLLECTING", "RUNNING", "PAUSED", "CANCELLING", "CANCELLED", "DONE"}
	cmd.Flags().StringVar(&state, "state", "", "only those in this `STATE`: "+strings.Join(states, ", "))
	return command.List[recoup.Replay]{
		Noun: "replay", Key: "replays",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "STATE", State: true}, {Name: "STAGE", Drop: 1}, {Name: "MEMBERS"}, {Name: "ENDED"}, {Name: "FAILED"},
			{Name: "BY", Drop: 3}, {Name: "CREATED", Drop: 2}, {Name: "REASON", Wrap: true},
		},
		Read: func(*command.Session, []string) (err error) {
			state, err = command.OneOf("state", state, states)
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.Replay, string, error) {
			page, err := s.Replays.List(ctx, state, p)
			return page.Replays, page.Next, err
		},
		Row: func(s *command.Session, r *recoup.Replay) command.Cells {
			return command.Cells{r.ID, r.State, r.Step, r.Members, r.Counts.Ended(), r.Counts.Failed + r.Counts.Repeated,
				r.CreatedBy, command.At(r.CreatedAt), r.Reason}
		},
	}.Command(streams, cmd)
}

func replaysShow(streams command.Streams) *cobra.Command {
	var items string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a replay, its notes and the outcome of its items",
		Example: `  recoup replays show ` + command.AnID + `
  recoup replays show ` + command.AnID + ` --items FAILED`,
		Args: command.ExactArgs("ID"),
	}
	states := []string{"PENDING", "RELEASED", "SUCCEEDED", "FAILED", "REPEATED", "CANCELLED", "ARCHIVED"}
	cmd.Flags().StringVar(&items, "items", "", "list the items in this `STATE`: "+strings.Join(states, ", "))
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		id, err := s.ID(recoup.ReplayIDs, args)
		if err != nil {
			return err
		}
		state, err := command.OneOf("items", items, states)
		if err != nil {
			return err
		}
		r, err := s.Replays.Get(ctx, id)
		switch {
		case err != nil:
			return err
		case state != "":
			return printItems(ctx, s, id, state)
		case s.Machine():
			return s.Print(r)
		}
		p := command.Page{Width: s.Width}
		p.Heading("Replay " + r.ID.String())
		p.Facts("progress", replayLine(&r.Replay), "reason", r.Reason, "by", r.CreatedBy, "began", s.When(r.StartedAt), "ended", s.When(r.EndedAt),
			"rate", fmt.Sprintf("%g per second, %d at a time", r.Plan.Rate, r.Plan.Concurrency))
		rows := make([][]string, len(r.Notes))
		for i, n := range r.Notes {
			rows[i] = []string{command.Printable(string(n.Step)), command.Printable(n.Actor), s.Relative(n.At), command.Printable(n.Text)}
		}
		if len(rows) > 0 {
			p.Heading("Notes")
			p.Columns(rows...)
		}
		s.Sayf("%s", strings.TrimSuffix(p.String(), "\n"))
		return nil
	})
}

func printItems(ctx context.Context, s *command.Session, replay recoup.ID, state string) error {
	items := recoup.ReplayItems{Items: []recoup.ReplayItem{}}
	for more := true; more; {
		part, err := s.Replays.Items(ctx, replay, state, items.Next, command.MaxRows)
		if err != nil {
			return err
		}
		items.Items, items.Next = append(items.Items, part.Items...), part.Next
		more = part.Next > 0
	}
	if s.Machine() {
		return s.Print(items)
	}
	t := command.NewTable(s.Streams, command.Column{Name: "ERROR"}, command.Column{Name: "STATE", State: true}, command.Column{Name: "STAGE", Drop: 1},
		command.Column{Name: "CLASS"}, command.Column{Name: "WORKER", Drop: 3}, command.Column{Name: "ENDED", Drop: 2}, command.Column{Name: "DETAIL", Wrap: true})
	for _, i := range items.Items {
		t.Add(i.ErrorID, i.State, i.Stage, i.Class, i.Worker, command.At(i.EndedAt), i.Detail)
	}
	fmt.Fprint(s.Out, t)
	return nil
}
