package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"recoup/client"
)

func workCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Keep workers from getting work, and let them again",
		Long: `Work waits in a queue for the workers of its pipeline. A pause keeps what it names from being
handed out: a pipeline, a stage, a class of replayed failures, or several together. What
workers have goes on.`,
		Example: `  recoup work pause --pipeline criticizer --stage llm --for 2h --reason "the model is down"
  recoup work paused`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(workPause(streams), workUnpause(streams), workPaused(streams))
	return cmd
}

func pauseFlags(cmd *cobra.Command, ask *client.NewPause) {
	cmd.Flags().StringVar(&ask.Pipeline, "pipeline", "", "work of this `PIPELINE`")
	cmd.Flags().StringVar(&ask.Stage, "stage", "", "work that goes on at this `STAGE`")
	cmd.Flags().StringVar(&ask.Class, "class", "", "replayed work whose failure was of this `CODE`")
	cmd.Flags().BoolVar(&ask.All, "all", false, "all work")
}

// named refuses a pause that names nothing and does not say that this is meant.
func named(ask *client.NewPause) error {
	if (ask.Pipeline == "" && ask.Stage == "" && ask.Class == "") != ask.All {
		return usagef("expected --pipeline, --stage or --class, or else --all")
	}
	return nil
}

func workPause(streams Streams) *cobra.Command {
	var ask client.NewPause
	var last, until string
	cmd := &cobra.Command{
		Use:     "pause",
		Short:   "Keep work from being handed out",
		Example: `  recoup work pause --pipeline criticizer --stage llm --for 2h --reason "the model is down"`,
		Args:    noArgs,
	}
	pauseFlags(cmd, &ask)
	cmd.Flags().StringVar(&last, "for", "", "it lasts so `LONG`: 90m, 48h, 7d (default: until it is lifted)")
	cmd.Flags().StringVar(&until, "until", "", "it lasts until this `TIME`")
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for others to read; required")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) (err error) {
		if err := named(&ask); err != nil {
			return err
		}
		if ask.Reason == "" {
			return usagef("--reason is missing: expected why nothing is handed out")
		}
		if last != "" || until != "" {
			if ask.Until, err = silenceEnd(last, until, s.now()); err != nil {
				return err
			}
		}
		p, err := s.PauseWork(ctx, ask)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, p)
		}
		fmt.Fprintf(s.Out, "Paused: %s, %s.\n", pausedWhat(&p), cmp.Or(s.when(p.Until), "until it is lifted"))
		return nil
	})
}

// pausedWhat says what a pause covers.
func pausedWhat(p *client.WorkPause) string {
	return printable(cmp.Or(p.Pipeline, "every pipeline") + ", " + cmp.Or(p.Stage, "every stage") + ", " + cmp.Or(string(p.Class), "every class"))
}

func workUnpause(streams Streams) *cobra.Command {
	var ask client.NewPause
	cmd := &cobra.Command{
		Use:     "unpause",
		Short:   "Let work be handed out again; names exactly what the pause named",
		Example: `  recoup work unpause --pipeline criticizer --stage llm`,
		Args:    noArgs,
	}
	pauseFlags(cmd, &ask)
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for the audit")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		if err := named(&ask); err != nil {
			return err
		}
		if err := s.UnpauseWork(ctx, ask); err != nil {
			return err
		}
		if s.json {
			return printJSON(s.Out, struct{}{})
		}
		fmt.Fprintln(s.Out, "It is handed out again.")
		return nil
	})
}

func workPaused(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "paused",
		Short:   "List what is paused, by whom and why",
		Example: "  recoup work paused",
		Args:    noArgs,
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		list, err := s.WorkPauses(ctx)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, client.WorkPauses{Pauses: list})
		case len(list) == 0:
			fmt.Fprintln(s.Err, "Nothing is paused.")
			return nil
		}
		t := newTable(s.Streams, "PIPELINE", "STAGE", "CLASS", "BY", "SINCE", "UNTIL", "REASON")
		for i := range list {
			p := &list[i]
			until := ""
			if !p.Until.IsZero() {
				until = s.relative(p.Until)
			}
			t.add(p.Pipeline, p.Stage, string(p.Class), p.By, s.ago(p.At), until, p.Reason)
		}
		fmt.Fprint(s.Out, t)
		return nil
	})
}
