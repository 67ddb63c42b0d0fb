package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"recoup/client"
)

func gateZeroCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gate-zero",
		Short: "Take in company candidates, and recover those that failed",
		Long: `A company candidate, an intake, is verified at Gate Zero. One that fails is retried after
24 hours, 72 hours and 168 hours; if all of that fails it is exhausted. One that passes a
retry goes on as a new intake. Fourteen days after its import was completed a batch is
frozen, and what is left in it is exhausted.`,
		Example: `  recoup gate-zero import companies.csv --batch 2026_annual_outreach --complete
  recoup gate-zero status
  recoup gate-zero verify`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(gateZeroImport(streams), gateZeroComplete(streams), gateZeroStatus(streams),
		gateZeroRecoveries(streams, client.Eligible, "eligible", "List recoveries that may be retried now, the longest waiting first"),
		gateZeroRecoveries(streams, client.Exhausted, "exhausted", "List recoveries that are over without success, the last one first"),
		gateZeroKill(streams), gateZeroRelease(streams), gateZeroShow(streams), gateZeroVerify(streams))
	return cmd
}

func gateZeroStatus(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [BATCH]",
		Short: "Show the batches, or one, and how far they are",
		Long: `Shows the batches with how many of their intakes and recoveries are in which status, and
what the recoveries failed for. TIMEOUT and API_UNAVAILABLE say nothing about the company:
they use up an attempt, and are counted apart.`,
		Example: `  recoup gate-zero status
  recoup gate-zero status 2026_annual_outreach`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return stray(cmd, args[1])
			}
			return nil
		},
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		if len(args) == 1 {
			return s.showBatch(ctx, args[0])
		}
		return s.gateZeroStatus(ctx)
	})
}

func (s *session) gateZeroStatus(ctx context.Context) error {
	status, err := s.GateZeroStatus(ctx)
	if err != nil {
		return err
	}
	batches, err := s.IntakeBatches(ctx, client.Page{Limit: 50})
	switch {
	case err != nil:
		return err
	case s.json:
		return printJSON(s.Out, struct {
			client.GateZeroStatus
			Batches []client.IntakeBatch `json:"newest_batches"`
			Count   int64                `json:"batches"`
		}{status, batches.Batches, status.Batches})
	case len(batches.Batches) > 0:
		t := newTable(s.Streams, "BATCH", "STATE", "PENDING", "AUTHORIZED", "FAILED", "ACTIVE", "SUCCEEDED", "EXHAUSTED", "FREEZES")
		for i := range batches.Batches {
			b := &batches.Batches[i]
			t.add(b.ID, batchState(b), tally(b.Intakes, "PENDING"), tally(b.Intakes, "AUTHORIZED"), tally(b.Intakes, "FAILED"),
				tally(b.Recoveries, "ACTIVE"), tally(b.Recoveries, "SUCCEEDED"), tally(b.Recoveries, "EXHAUSTED"), s.freezes(b))
		}
		fmt.Fprint(s.Out, t)
	default:
		fmt.Fprintln(s.Err, "There is no batch.")
	}
	if batches.Next != "" {
		fmt.Fprintf(s.Err, "These are the newest of %d batches.\n", status.Batches)
	}
	if len(status.Recoveries) > 0 {
		fmt.Fprintf(s.Out, "\n%s", reasonTable(s.Streams, status.Recoveries))
	}
	return nil
}

func tally(counts map[string]int64, name string) string { return fmt.Sprint(counts[name]) }

func (s Streams) freezes(b *client.IntakeBatch) string {
	switch {
	case !b.FrozenAt.IsZero():
		return "frozen"
	case b.FreezeAt.IsZero():
		return ""
	}
	return s.relative(b.FreezeAt)
}

func batchState(b *client.IntakeBatch) string {
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

// reasonTable counts what recoveries failed for last, and says which of it is
// about the company.
func reasonTable(s Streams, counts []client.RecoveryCount) *table {
	t := newTable(s, "REASON", "ABOUT", "ACTIVE", "SUCCEEDED", "EXHAUSTED")
	rows := map[string]map[string]int64{}
	var reasons []string
	for _, c := range counts {
		if rows[c.Reason] == nil {
			rows[c.Reason], reasons = map[string]int64{}, append(reasons, c.Reason)
		}
		rows[c.Reason][c.Status] = c.N
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		about := "the company"
		if slices.ContainsFunc(counts, func(c client.RecoveryCount) bool { return c.Reason == reason && c.Inconclusive }) {
			about = "the way there"
		}
		row := rows[reason]
		t.add(reason, about, tally(row, "ACTIVE"), tally(row, "SUCCEEDED"), tally(row, "EXHAUSTED"))
	}
	return t
}

func (s *session) showBatch(ctx context.Context, id string) error {
	story, err := s.IntakeBatch(ctx, id)
	switch {
	case err != nil:
		return err
	case s.json:
		return printJSON(s.Out, story)
	}
	b := &story.Batch
	var p page
	p.heading(printable(b.ID))
	p.known(
		fact{"state", batchState(b)}, fact{"created", s.when(b.CreatedAt)}, fact{"completed", s.when(b.CompletedAt)},
		fact{"window", count(b.WindowDays, "day")}, fact{"freezes", s.when(b.FreezeAt)}, fact{"frozen", s.when(b.FrozenAt)},
		fact{"killed", s.when(b.KilledAt)}, fact{"by", b.KilledBy}, fact{"why", b.KillReason},
		fact{"intakes", tallies(b.Intakes)}, fact{"recoveries", tallies(b.Recoveries)},
	)
	fmt.Fprint(s.Out, p.String())
	if len(story.Timeline) > 0 {
		fmt.Fprintf(s.Out, "\n%s", timelineTable(s.Streams, story.Timeline))
	}
	return nil
}

// tallies writes counts in one line, in the order of their names.
func tallies(counts map[string]int64) string {
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

func timelineTable(s Streams, events []client.IntakeEvent) *table {
	t := newTable(s, "TIME (UTC)", "WHAT", "ATTEMPT", "BY", "WHY")
	for i := range events {
		e := &events[i]
		why := e.Reason
		switch {
		case e.Inconclusive:
			why += " (says nothing about the company)"
		case !e.NewIntakeID.IsZero():
			why = "goes on as " + e.NewIntakeID.String()
		}
		t.add(e.At.UTC().Format(time.DateTime), e.Event, number(e.AttemptCount), e.Actor, why)
	}
	return t
}
