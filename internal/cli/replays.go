package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

func replaysCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replays",
		Short: "Watch and steer replays of dead letters",
		Long: `A replay sends dead letters back to work, at a rate and in a ramp, and keeps what became of
each. 'recoup dead-letters replay' begins one.`,
		Example: `  recoup replays list --state RUNNING
  recoup replays watch 0198c0de-0000-7000-8000-000000000001`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(replaysList(streams), replaysShow(streams), replaysWatch(streams))
	for _, act := range []replayAct{
		{"pause", "paused", "Keep a replay from releasing more; what workers have goes on", (*client.Client).PauseReplay},
		{"resume", "resumed", "Let a paused replay go on; one that has stopped itself begins its ramp again", (*client.Client).ResumeReplay},
		{"cancel", "cancelled", "End a replay; what no worker has is as it was before", (*client.Client).CancelReplay},
	} {
		cmd.AddCommand(act.command(streams))
	}
	return cmd
}

// replayLine says in one line how far a replay has come.
func replayLine(r *client.Replay) string {
	c := r.Counts
	line := fmt.Sprintf("%s: %d of %d ended, %d succeeded, %d failed", strings.ToLower(r.State), c.Ended(), r.Members, c.Succeeded, c.Failed+c.Repeated)
	for _, rare := range []struct {
		n    int64
		what string
	}{{c.Cancelled, "cancelled"}, {c.Archived, "archived"}} {
		if rare.n > 0 {
			line += fmt.Sprintf(", %d %s", rare.n, rare.what)
		}
	}
	if r.Step != "" && !r.Over() {
		line += ", step " + r.Step
	}
	if c.Released > 0 {
		line += fmt.Sprintf(", %d out", c.Released)
	}
	if r.Why != "" {
		line += "; " + printable(r.Why)
	}
	return line
}

func replaysList(streams Streams) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List replays, newest first",
		Example: `  recoup replays list
  recoup replays list --state PAUSED`,
		Args: noArgs,
	}
	states := []string{"COLLECTING", "RUNNING", "PAUSED", "CANCELLING", "CANCELLED", "DONE"}
	cmd.Flags().StringVar(&state, "state", "", "only those in this `STATE`: "+strings.Join(states, ", "))
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		word, err := oneOf("state", state, states)
		if err != nil {
			return err
		}
		list, err := s.Replays(ctx, word, client.Page{})
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		case len(list.Replays) == 0:
			fmt.Fprintln(s.Err, "There is no replay.")
			return nil
		}
		t := newTable(s.Streams, "ID", "STATE", "STEP", "MEMBERS", "ENDED", "FAILED", "BY", "AGE", "REASON")
		for i := range list.Replays {
			r := &list.Replays[i]
			t.add(r.ID.String(), r.State, r.Step, fmt.Sprint(r.Members), fmt.Sprint(r.Counts.Ended()), fmt.Sprint(r.Counts.Failed+r.Counts.Repeated),
				r.CreatedBy, s.ago(r.CreatedAt), r.Reason)
		}
		fmt.Fprint(s.Out, t)
		return nil
	})
}

func replaysShow(streams Streams) *cobra.Command {
	var items string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a replay, its notes and what became of its members",
		Example: `  recoup replays show 0198c0de-0000-7000-8000-000000000001
  recoup replays show 0198c0de-0000-7000-8000-000000000001 --items FAILED`,
		Args: exactArgs("ID"),
	}
	states := []string{"PENDING", "RELEASED", "SUCCEEDED", "FAILED", "REPEATED", "CANCELLED", "ARCHIVED"}
	cmd.Flags().StringVar(&items, "items", "", "list the members in this `STATE`: "+strings.Join(states, ", "))
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		state, err := oneOf("items", items, states)
		if err != nil {
			return err
		}
		r, err := s.ReplayStatus(ctx, id)
		switch {
		case err != nil:
			return err
		case state != "":
			return s.printItems(ctx, id, state)
		case s.json:
			return printJSON(s.Out, r)
		}
		var p page
		p.heading("Replay " + r.ID.String())
		p.known(fact{"progress", replayLine(&r.Replay)}, fact{"reason", r.Reason}, fact{"by", r.CreatedBy}, fact{"began", s.when(r.StartedAt)}, fact{"ended", s.when(r.EndedAt)},
			fact{"rate", fmt.Sprintf("%g per second, %d at a time", r.Plan.Rate, r.Plan.Concurrency)})
		rows := make([][]string, len(r.Notes))
		for i, n := range r.Notes {
			rows[i] = []string{printable(n.Step), printable(n.Actor), s.relative(n.At), printable(n.Text)}
		}
		if len(rows) > 0 {
			p.heading("Notes")
			p.columns(rows...)
		}
		fmt.Fprint(s.Out, p.String())
		return nil
	})
}

func (s *session) printItems(ctx context.Context, replay recoup.ID, state string) error {
	items := client.ReplayItems{Items: []client.ReplayItem{}}
	for more := true; more; {
		part, err := s.ReplayItems(ctx, replay, state, items.Next, maxRows)
		if err != nil {
			return err
		}
		items.Items, items.Next = append(items.Items, part.Items...), part.Next
		more = part.Next > 0
	}
	if s.json {
		return printJSON(s.Out, items)
	}
	t := newTable(s.Streams, "ERROR", "STATE", "STAGE", "CLASS", "WORKER", "ENDED", "DETAIL")
	for _, i := range items.Items {
		ended := ""
		if !i.EndedAt.IsZero() {
			ended = s.relative(i.EndedAt)
		}
		t.add(i.ErrorID.String(), i.State, i.Stage, string(i.Class), i.Worker, ended, i.Detail)
	}
	fmt.Fprint(s.Out, t)
	return nil
}

// replayAct is something done to a replay, as a command.
type replayAct struct {
	verb, past, short string
	do                func(*client.Client, context.Context, recoup.ID, string, ...client.CallOption) (client.Replay, error)
}

func (a replayAct) command(streams Streams) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     a.verb + " ID",
		Short:   a.short,
		Example: fmt.Sprintf("  recoup replays %s 0198c0de-0000-7000-8000-000000000001 --reason \"look first\"", a.verb),
		Args:    exactArgs("ID"),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, as `TEXT` for the history; required")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		if strings.TrimSpace(reason) == "" {
			return usagef("--reason is missing: the history keeps why it was done")
		}
		r, err := a.do(s.Client, ctx, id, reason)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, r)
		}
		fmt.Fprintf(s.Out, "%s %s; %s\n", r.ID, a.past, replayLine(&r))
		return nil
	})
}
