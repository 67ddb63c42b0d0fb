package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
)

func gateZeroRecoveries(streams Streams, list, name, short string) *cobra.Command {
	filter := client.RecoveryFilter{List: list}
	var p client.Page
	cmd := &cobra.Command{
		Use: name, Short: short,
		Example: "  recoup gate-zero " + name + "\n  recoup gate-zero " + name + " --batch 2026_annual_outreach --json",
		Args:    noArgs,
	}
	cmd.Flags().StringVar(&filter.BatchID, "batch", "", "only of this `BATCH`")
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "at most `N` recoveries")
	cmd.Flags().StringVar(&p.Cursor, "cursor", "", "go on `AFTER` the last page")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		if p.Limit < 1 || p.Limit > maxRows {
			return usagef("--limit is %d: expected a number from 1 to %d", p.Limit, maxRows)
		}
		found, err := s.Recoveries(ctx, filter, p)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, found)
		case len(found.Recoveries) == 0:
			fmt.Fprintln(s.Err, "There is no such recovery.")
			return nil
		}
		fmt.Fprint(s.Out, recoveryTable(s.Streams, found.Recoveries))
		if found.Next != "" {
			fmt.Fprintf(s.Err, "There are more: --cursor %s\n", found.Next)
		}
		return nil
	})
}

func recoveryTable(s Streams, list []client.Recovery) *table {
	t := newTable(s, "ID", "COMPANY", "BATCH", "ATTEMPT", "REASON", "ABOUT", "SINCE", "NOW")
	for i := range list {
		r := &list[i]
		about, since, now := "the company", r.NextEligibleAt, "waits for a worker"
		if r.Inconclusive {
			about = "the way there"
		}
		switch {
		case r.Status != "ACTIVE":
			since, now = r.UpdatedAt, r.Status
		case r.BatchFrozen:
			now = "its batch is frozen"
		case r.BatchKilled:
			now = "its batch is killed"
		case r.LeaseWorker != "":
			now = "with " + r.LeaseWorker
		}
		t.add(r.IntakeID.String(), r.CompanyName, r.BatchID, fmt.Sprint(r.AttemptCount), r.FailureReason, about, s.ago(since), now)
	}
	return t
}

func gateZeroComplete(streams Streams) *cobra.Command {
	var act client.BatchAct
	cmd := &cobra.Command{
		Use:   "complete BATCH",
		Short: "Say that the import of a batch is done: its recovery window begins",
		Long: `Says that the import of a batch is done. Nothing can be added to it any more, and its
recovery window begins: when it is over, the batch is frozen. Saying it again changes
nothing.`,
		Example: `  recoup gate-zero complete 2026_annual_outreach`,
		Args:    exactArgs("BATCH"),
	}
	cmd.Flags().StringVar(&act.Reason, "reason", "", "why, as `TEXT` for the audit")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		b, err := s.CompleteIntakeBatch(ctx, args[0], act)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, b)
		}
		fmt.Fprintf(s.Out, "%s is complete; it freezes %s\n", printable(b.ID), s.when(b.FreezeAt))
		return nil
	})
}

func gateZeroKill(streams Streams) *cobra.Command {
	return killSwitchCommand(streams, &cobra.Command{
		Use:   "kill BATCH",
		Short: "Stop a batch at once, until it is released",
		Long: `Kills a batch: from now on nothing in it is claimed, and what workers hold is taken back
without using an attempt. It lasts until the batch is released. The freeze comes all the
same. Killing it again changes nothing, neither who did it nor why.`,
		Example: `  recoup gate-zero kill 2026_annual_outreach --reason "the file was wrong"`,
	}, "why, as `TEXT` for others to read; required", func(ctx context.Context, s *session, batch string, act client.BatchAct) error {
		if strings.TrimSpace(act.Reason) == "" {
			return usagef("--reason is missing: expected why the batch is stopped")
		}
		before, _ := s.KillSwitch(ctx, batch) // only to say whether this is new: what stands in the way stops the kill too
		k, err := s.Kill(ctx, batch, act)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, k)
		}
		how := "is killed"
		if before.Killed && before.KilledAt.Equal(k.KilledAt) {
			how = "was killed already"
		}
		fmt.Fprintf(s.Out, "%s %s, by %s: %s\n", printable(k.BatchID), how, printable(k.KilledBy), cmp.Or(printable(k.Reason), "no reason was given"))
		return nil
	})
}

func gateZeroRelease(streams Streams) *cobra.Command {
	return killSwitchCommand(streams, &cobra.Command{
		Use:     "release BATCH",
		Short:   "Let a batch go on that was killed",
		Example: `  recoup gate-zero release 2026_annual_outreach --reason "corrected"`,
	}, "why, as `TEXT` for the audit", func(ctx context.Context, s *session, batch string, act client.BatchAct) error {
		k, err := s.Release(ctx, batch, act)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, k)
		}
		fmt.Fprintf(s.Out, "%s is released, and goes on\n", printable(k.BatchID))
		return nil
	})
}

func killSwitchCommand(streams Streams, cmd *cobra.Command, reason string,
	turn func(ctx context.Context, s *session, batch string, act client.BatchAct) error) *cobra.Command {
	var act client.BatchAct
	cmd.Args = exactArgs("BATCH")
	cmd.Flags().StringVar(&act.Reason, "reason", "", reason)
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error { return turn(ctx, s, args[0], act) })
}

func gateZeroShow(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show an intake, from its first result to its end",
		Example: `  recoup gate-zero show 0198c0de-0000-7000-8000-000000000001`,
		Args:    exactArgs("ID"),
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		story, err := s.IntakeStory(ctx, id)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, story)
		}
		s.printStory(&story)
		return nil
	})
}

func (s *session) printStory(story *client.IntakeStory) {
	i := &story.Intake
	var p page
	p.heading(printable(i.CompanyName))
	p.known(
		fact{"id", i.ID.String()}, fact{"batch", i.BatchID}, fact{"status", i.Status}, fact{"domain", i.Domain},
		fact{"linkedin", i.LinkedInURL}, fact{"state", i.State}, fact{"took over from", id(i.PreviousID)}, fact{"came", s.when(i.CreatedAt)},
	)
	if r := story.Recovery; r != nil {
		p.heading("RECOVERY")
		next, reason := "", r.FailureReason
		if r.Status == "ACTIVE" {
			next = s.when(r.NextEligibleAt)
		}
		if r.Inconclusive {
			reason += " (says nothing about the company)"
		}
		p.known(
			fact{"status", r.Status}, fact{"attempts", fmt.Sprint(r.AttemptCount)}, fact{"last reason", reason},
			fact{"eligible", next}, fact{"with", r.LeaseWorker}, fact{"lease ends", s.when(r.LeaseEndsAt)},
			fact{"batch killed", yes(r.BatchKilled)}, fact{"batch frozen", yes(r.BatchFrozen)},
		)
	}
	fmt.Fprint(s.Out, p.String())
	if len(story.Timeline) > 0 {
		fmt.Fprintf(s.Out, "\n%s", timelineTable(s.Streams, story.Timeline))
	}
}
