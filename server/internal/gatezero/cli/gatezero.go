// Package cli is 'recoup gate-zero': batches of company candidates, their
// import, verification and recovery.
package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/complete"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	intake := show(streams)
	group := command.Group(&cobra.Command{
		Use:   "gate-zero",
		Short: "Import company candidates, verify them, recover failed ones",
		Long: `A company candidate, an intake, is verified at Gate Zero. One that fails is retried after 24, 72
and 168 hours; if all of these fail it is exhausted. One that passes a retry goes on as a new
intake. Fourteen days after its import was completed a batch is frozen, and what is left in it is
exhausted.`,
		Example: `  recoup gate-zero import companies.csv --batch spring-import --complete
  recoup gate-zero status
  recoup gate-zero verify`,
	}, importCommand(streams), completeCommand(streams), status(streams),
		recoveries(streams, recoup.EligibleRecoveries, "eligible", "List recoveries that are due for a retry, longest waiting first"),
		recoveries(streams, recoup.ExhaustedRecoveries, "exhausted", "List recoveries that ended without success, last ended first"),
		kill(streams), release(streams), intake, verifyCommand(streams))
	annotate(group, "gate-zero status")
	annotate(intake, "gate-zero eligible")
	group.Annotations[command.StateBy] = "'recoup gate-zero status' shows the state of the batches."
	complete.Own(intake, streams, map[string]complete.Source{"ID": intakeIDs()})
	complete.Own(group, streams, map[string]complete.Source{"BATCH": batchNames()})
	return []*cobra.Command{group}
}

// annotate says which command prints what another takes.
func annotate(cmd *cobra.Command, listedBy string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[command.ListedBy] = listedBy
}

// intakeIDs offers the newest intakes.
func intakeIDs() complete.Source {
	return complete.Each(func(ctx context.Context, s *command.Session) ([]recoup.Intake, error) {
		found, err := s.GateZero.Intakes(ctx, recoup.IntakeFilter{}, client.Page{Limit: complete.Recent})
		return found.Intakes, err
	}, func(i *recoup.Intake) string { return complete.Described(i.ID.String(), i.CompanyName+" "+i.Domain) })
}

// batchNames offers the newest batches.
func batchNames() complete.Source {
	return complete.Each(func(ctx context.Context, s *command.Session) ([]recoup.IntakeBatchSummary, error) {
		page, err := s.GateZero.Batches(ctx, client.Page{Limit: complete.Recent})
		return page.Batches, err
	}, func(b *recoup.IntakeBatchSummary) string {
		return complete.Described(b.ID, "created "+stream.Stamp(b.CreatedAt))
	})
}

func status(streams command.Streams) *cobra.Command {
	return command.OnServer(streams, &cobra.Command{
		Use:   "status [BATCH]",
		Short: "Show the progress of the batches, or of one",
		Long: `Shows the batches with how many of their intakes and recoveries are in which status, and the
failure reasons of the recoveries. TIMEOUT and API_UNAVAILABLE are inconclusive: they use up an
attempt, but say nothing about the company.`,
		Example: `  recoup gate-zero status
  recoup gate-zero status spring-import`,
		Args: command.AtMost(1),
	}, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		if len(args) == 1 {
			return showBatch(ctx, s, args[0])
		}
		return showStatus(ctx, s)
	})
}

var batchColumns = []command.Column{
	{Name: "BATCH"}, {Name: "STATE", State: true}, {Name: "PENDING"}, {Name: "AUTHORIZED", Drop: 3}, {Name: "FAILED", Drop: 1}, {Name: "ACTIVE"},
	{Name: "SUCCEEDED", Drop: 2}, {Name: "EXHAUSTED"}, {Name: "FREEZES"},
}

func showStatus(ctx context.Context, s *command.Session) error {
	status, err := s.GateZero.Status(ctx)
	if err != nil {
		return err
	}
	batches, err := s.GateZero.Batches(ctx, client.Page{Limit: 50})
	switch {
	case err != nil:
		return err
	case s.Machine():
		return s.Print(struct {
			recoup.GateZeroStatus
			Batches []recoup.IntakeBatchSummary `json:"newest_batches"`
			Count   int64                       `json:"batches"`
		}{status, batches.Batches, status.Batches})
	case len(batches.Batches) > 0:
		t := command.NewTable(s.Streams, batchColumns...)
		for i := range batches.Batches {
			b := &batches.Batches[i]
			t.Add(b.ID, batchState(b), b.Intakes["PENDING"], b.Intakes["AUTHORIZED"], b.Intakes["FAILED"],
				b.Recoveries["ACTIVE"], b.Recoveries["SUCCEEDED"], b.Recoveries["EXHAUSTED"], freezes(s, b))
		}
		fmt.Fprint(s.Out, t)
	default:
		s.Notef("There are no batches. 'recoup gate-zero import FILE --batch BATCH' creates one.")
	}
	if batches.Next != "" {
		s.Notef("These are the newest of %d batches.", status.Batches)
	}
	if len(status.Recoveries) > 0 {
		fmt.Fprintf(s.Out, "\n%s", reasonTable(s.Streams, status.Recoveries))
	}
	return nil
}

func freezes(s *command.Session, b *recoup.IntakeBatchSummary) string {
	if !b.FrozenAt.IsZero() {
		return "frozen"
	}
	return s.Relative(b.FreezeAt)
}

func batchState(b *recoup.IntakeBatchSummary) string {
	switch {
	case b.Killed:
		return "KILLED"
	case !b.FrozenAt.IsZero():
		return "FROZEN"
	case b.CompletedAt.IsZero():
		return "IMPORTING"
	}
	return "COMPLETE"
}

// conclusive says whether a reason says something about the company.
func conclusive(inconclusive bool) string {
	if inconclusive {
		return "no"
	}
	return "yes"
}

// reasonTable counts the last failure reasons of recoveries.
func reasonTable(s command.Streams, counts []recoup.RecoveryCount) *command.Table {
	t := command.NewTable(s, command.Column{Name: "REASON"}, command.Column{Name: "CONCLUSIVE", Drop: 1},
		command.Column{Name: "ACTIVE"}, command.Column{Name: "SUCCEEDED"}, command.Column{Name: "EXHAUSTED"})
	rows := map[string]map[recoup.RecoveryStatus]int64{}
	vague := map[string]bool{}
	var reasons []string
	for _, c := range counts {
		if rows[c.Reason] == nil {
			rows[c.Reason], reasons = map[recoup.RecoveryStatus]int64{}, append(reasons, c.Reason)
		}
		rows[c.Reason][c.Status] = c.N
		vague[c.Reason] = vague[c.Reason] || c.Inconclusive
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		row := rows[reason]
		t.Add(reason, conclusive(vague[reason]), row["ACTIVE"], row["SUCCEEDED"], row["EXHAUSTED"])
	}
	return t
}

func showBatch(ctx context.Context, s *command.Session, id string) error {
	story, err := s.GateZero.Batch(ctx, id)
	switch {
	case err != nil:
		return err
	case s.Machine():
		return s.Print(story)
	}
	b := &story.Batch
	p := command.Page{Width: s.Width}
	p.Heading(command.Printable(b.ID))
	p.Facts(
		"state", batchState(b), "created", s.When(b.CreatedAt), "completed", s.When(b.CompletedAt),
		"window", command.Count(b.WindowDays, "day"), "freezes", s.When(b.FreezeAt), "frozen", s.When(b.FrozenAt),
		"killed", s.When(b.KilledAt), "by", b.KilledBy, "reason", b.KillReason,
		"intakes", tallies(b.Intakes), "recoveries", tallies(b.Recoveries),
	)
	fmt.Fprint(s.Out, p.String())
	printTimeline(s, story.Timeline)
	return nil
}

// tallies writes counts in one line, in the order of their names.
func tallies[S ~string](counts map[S]int64) string {
	var list []string
	for name, n := range counts {
		list = append(list, fmt.Sprintf("%d %s", n, name))
	}
	slices.SortFunc(list, func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	return strings.Join(list, ", ")
}

func printTimeline(s *command.Session, events []recoup.IntakeEvent) {
	if len(events) == 0 {
		return
	}
	t := command.NewTable(s.Streams, command.Column{Name: "TIME (UTC)"}, command.Column{Name: "EVENT"}, command.Column{Name: "ATTEMPT", Drop: 2},
		command.Column{Name: "BY", Drop: 1}, command.Column{Name: "REASON", Wrap: true})
	for i := range events {
		e := &events[i]
		why := e.Reason
		switch {
		case e.Inconclusive:
			why += " (inconclusive)"
		case !e.NewIntakeID.IsZero():
			why = "goes on as " + e.NewIntakeID.String()
		}
		t.Add(command.Exactly(e.At), e.Event, command.Figure(e.AttemptCount), e.Actor, why)
	}
	fmt.Fprintf(s.Out, "\n%s", t)
}
