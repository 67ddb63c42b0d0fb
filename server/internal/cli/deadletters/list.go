package deadletters

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func list(streams command.Streams) *cobra.Command {
	var flags filter
	var step string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, newest first",
		Example: `  recoup dead-letters list --step NEW
  recoup dead-letters list --pipeline newsletter --class NETWORK_TIMEOUT --all`,
	}
	flags.add(cmd)
	steps := []recoup.WorkflowStep{recoup.StepNew, recoup.StepTriaged, recoup.StepRemediated, recoup.StepValidated, recoup.StepReplaying, recoup.StepReplayed, recoup.StepVerified}
	cmd.Flags().StringVar(&step, "step", "", "only those at this `STEP`: "+command.Join(steps))
	var f recoup.DeadLetterFilter
	return command.List[recoup.DeadLetter]{
		Noun: "dead letter", Key: "dead_letters",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "PIPELINE", Drop: 2}, {Name: "STAGE", Drop: 1}, {Name: "CLASS"}, {Name: "STEP", State: true}, {Name: "ROUND", Drop: 6},
			{Name: "OWNER", Drop: 5}, {Name: "CREATED", Drop: 4}, {Name: "ERROR", Drop: 3, Wrap: true},
		},
		Read: func(s *command.Session, _ []string) (err error) {
			if f, err = flags.read(s); err == nil {
				f.Step, err = command.OneOf("step", step, steps)
			}
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.DeadLetter, string, error) {
			page, err := s.DeadLetters.List(ctx, f, p)
			return page.DeadLetters, page.Next, err
		},
		Row: func(s *command.Session, d *recoup.DeadLetter) command.Cells {
			return command.Cells{d.ErrorID, d.Pipeline, d.Stage, d.Class, d.Step, d.Round, d.Owner, command.At(d.CreatedAt), d.Signature}
		},
	}.Command(streams, cmd)
}

func groups(streams command.Streams) *cobra.Command {
	var pipeline string
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "List groups of dead letters with the same cause, last seen first",
		Example: `  recoup dead-letters groups
  recoup dead-letters groups --pipeline newsletter`,
	}
	cmd.Flags().StringVar(&pipeline, "pipeline", "", "only of this `PIPELINE`")
	return command.List[recoup.DeadLetterGroup]{
		Noun: "group", Key: "groups",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "PIPELINE", Drop: 2}, {Name: "STAGE", Drop: 1}, {Name: "CLASS"}, {Name: "OPEN"}, {Name: "TOTAL", Drop: 6},
			{Name: "LAST", Drop: 4}, {Name: "OWNER", Drop: 5}, {Name: "ERROR", Drop: 3, Wrap: true},
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.DeadLetterGroup, string, error) {
			page, err := s.DeadLetterGroups.List(ctx, client.DeadLetterGroupFilter{Pipeline: pipeline}, p)
			return page.Groups, page.Next, err
		},
		Row: func(s *command.Session, g *recoup.DeadLetterGroup) command.Cells {
			return command.Cells{g.ID, g.Pipeline, g.Stage, g.Class, g.Open, g.Total, command.At(g.LastSeenAt), g.Owner, g.Signature}
		},
	}.Command(streams, cmd)
}

func show(streams command.Streams) *cobra.Command {
	return command.ShowID(streams, &cobra.Command{
		Use:     "show ID",
		Short:   "Show a dead letter: its failures, notes and replays",
		Example: "  recoup dead-letters show " + command.AnID,
	}, recoup.DeadLetterIDs, func(ctx context.Context, s *command.Session, id recoup.ID) (recoup.DeadLetterDetails, error) {
		return s.DeadLetters.Get(ctx, id)
	}, describe)
}

// describe prints what is known of a dead letter.
func describe(s *command.Session, p *command.Page, d *recoup.DeadLetterDetails) {
	p.Heading(string(d.Class) + " at " + d.Stage)
	p.Facts(
		"id", d.ErrorID.String(), "work", d.WorkID.String(), "pipeline", d.Pipeline, "entity", d.EntityID, "step", string(d.Step), "next", d.Next,
		"cause", string(d.Cause), "exhausted", exhausted(d.Exhausted), "state", string(d.State), "parked for", string(d.ParkReason), "owner", d.Owner,
		"group", d.GroupID.String(), "payload", d.PayloadRef, "replay", command.ID(d.ReplayID), "previous", command.ID(d.PreviousID),
		"first failure", s.When(d.FirstFailureAt), "last failure", s.When(d.LastFailureAt), "expires", s.When(d.ExpiresAt), "closed", s.When(d.ClosedAt),
	)
	for _, r := range d.Rounds {
		p.Heading(fmt.Sprintf("Round %d", r.Round))
		p.Facts("failed", string(r.Class)+" at "+r.Stage+", "+s.Relative(r.LastFailureAt), "context", string(r.Context))
		for line := range strings.Lines(r.LastStack) {
			p.Verbatim(command.Printable(strings.TrimRight(line, "\n")) + "\n")
		}
	}
	if len(d.Notes) > 0 {
		p.Heading("Notes")
	}
	rows := make([][]string, len(d.Notes))
	for i, n := range d.Notes {
		rows[i] = []string{command.Printable(string(n.Step)), command.Printable(n.Actor), s.Relative(n.At), cmp.Or(command.Printable(strings.TrimSpace(n.Text+" "+n.Link+" "+string(n.Fields))), "-")}
	}
	p.Columns(rows...)
}

// exhausted says whether the retries of what failed were exhausted.
func exhausted(yes bool) string {
	if yes {
		return "yes: every retry failed"
	}
	return "no"
}
