package deadletters

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func work(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "work",
		Short: "Pause and resume staged work",
		Long: `Staged work waits in a queue for the workers of its pipeline. A pause keeps what it names from
being claimed: a pipeline, a stage, a class of replayed failures, or several together. What
workers have claimed goes on.`,
		Example: `  recoup work pause --pipeline newsletter --for 2h --reason "model down"
  recoup work paused`,
	}, pause(streams), unpause(streams), paused(streams))
}

func pauseFlags(cmd *cobra.Command, ask *recoup.NewPause) {
	cmd.Flags().StringVar(&ask.Pipeline, "pipeline", "", "work of this `PIPELINE`")
	cmd.Flags().StringVar(&ask.Stage, "stage", "", "work that continues at this `STAGE`")
	cmd.Flags().StringVar((*string)(&ask.Class), "class", "", "replayed work that had failed with this `CODE`")
	cmd.Flags().BoolVar(&ask.All, "all", false, "all work")
}

// named refuses a pause that names nothing and does not say that this is meant.
func named(ask *recoup.NewPause) error {
	if (ask.Pipeline == "" && ask.Stage == "" && ask.Class == "") != ask.All {
		return command.Usagef("expected --pipeline, --stage or --class, or else --all")
	}
	return nil
}

func pause(streams command.Streams) *cobra.Command {
	var ask recoup.NewPause
	var last, until string
	cmd := &cobra.Command{
		Use:     "pause",
		Short:   "Keep work from being claimed",
		Example: `  recoup work pause --pipeline newsletter --for 2h --reason "model down"`,
	}
	pauseFlags(cmd, &ask)
	cmd.Flags().StringVar(&last, "for", "", "`DURATION` of the pause: 90m, 48h, 7d (default: until unpaused)")
	cmd.Flags().StringVar(&until, "until", "", "`TIME` at which the pause ends")
	return command.Act[recoup.WorkPause]{
		Reason: &ask.Reason, Need: true,
		Check: func(s *command.Session, _ []string) (err error) {
			if err = named(&ask); err == nil && (last != "" || until != "") {
				ask.Until, err = command.ParseEnd(last, until, s.Clock())
			}
			return err
		},
		Call: func(ctx context.Context, s *command.Session, _ []string) (recoup.WorkPause, error) {
			return s.Work.Pause(ctx, ask)
		},
		Say: func(s *command.Session, p recoup.WorkPause) {
			end := "until unpaused"
			if !p.Until.IsZero() {
				end = "until " + s.When(p.Until)
			}
			s.Sayf("Paused %s: %s.", end, command.Printable(cmp.Or(p.Pipeline, "every pipeline")+", "+cmp.Or(p.Stage, "every stage")+", "+cmp.Or(string(p.Class), "every class")))
		},
	}.Command(streams, cmd)
}

func unpause(streams command.Streams) *cobra.Command {
	var ask recoup.NewPause
	cmd := &cobra.Command{
		Use:     "unpause",
		Short:   "End a pause; takes exactly what the pause named",
		Example: `  recoup work unpause --pipeline newsletter`,
	}
	pauseFlags(cmd, &ask)
	return command.Act[struct{}]{
		Reason: &ask.Reason,
		Check:  func(*command.Session, []string) error { return named(&ask) },
		Call: func(ctx context.Context, s *command.Session, _ []string) (struct{}, error) {
			return struct{}{}, s.Work.Resume(ctx, ask)
		},
		Say: func(s *command.Session, _ struct{}) { s.Sayf("Unpaused: the work can be claimed again.") },
	}.Command(streams, cmd)
}

func paused(streams command.Streams) *cobra.Command {
	return command.List[recoup.WorkPause]{
		Noun: "pause", Key: "pauses", Empty: "Nothing is paused.", Whole: true,
		Columns: []command.Column{
			{Name: "PIPELINE"}, {Name: "STAGE"}, {Name: "CLASS", Drop: 1}, {Name: "BY", Drop: 3}, {Name: "SINCE", Drop: 4}, {Name: "UNTIL", Drop: 2}, {Name: "REASON", Wrap: true},
		},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) ([]recoup.WorkPause, string, error) {
			list, err := s.Work.Pauses(ctx)
			return list, "", err
		},
		Row: func(s *command.Session, p *recoup.WorkPause) command.Cells {
			return command.Cells{p.Pipeline, p.Stage, p.Class, p.By, command.Since(p.At), command.At(p.Until), p.Reason}
		},
	}.Command(streams, &cobra.Command{
		Use:     "paused",
		Short:   "List pauses, by whom and why",
		Example: "  recoup work paused",
	})
}
