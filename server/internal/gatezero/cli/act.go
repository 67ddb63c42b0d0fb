package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func recoveries(streams command.Streams, which, name, short string) *cobra.Command {
	filter := recoup.RecoveryFilter{List: which}
	cmd := &cobra.Command{
		Use: name, Short: short,
		Example: "  recoup gate-zero " + name + "\n  recoup gate-zero " + name + " --batch spring-import --json",
	}
	cmd.Flags().StringVar(&filter.BatchID, "batch", "", "only of this `BATCH`")
	return command.List[recoup.Recovery]{
		Noun: "recovery", Key: "recoveries",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "COMPANY", Wrap: true}, {Name: "BATCH", Drop: 3}, {Name: "ATTEMPT", Drop: 4}, {Name: "REASON"}, {Name: "CONCLUSIVE", Drop: 5},
			{Name: "SINCE", Drop: 2}, {Name: "STATUS", Drop: 1, State: true},
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.Recovery, string, error) {
			page, err := s.GateZero.Recoveries(ctx, filter, p)
			return page.Recoveries, page.Next, err
		},
		Row: func(s *command.Session, r *recoup.Recovery) command.Cells {
			since, now := r.NextEligibleAt, "waiting for a worker"
			switch {
			case r.Status != "ACTIVE":
				since, now = r.UpdatedAt, string(r.Status)
			case r.BatchFrozen:
				now = "batch frozen"
			case r.BatchKilled:
				now = "batch killed"
			case r.LeaseWorker != "":
				now = "leased by " + r.LeaseWorker
			}
			return command.Cells{r.IntakeID, r.CompanyName, r.BatchID, r.AttemptCount, r.FailureReason, conclusive(r.Inconclusive), command.Since(since), now}
		},
	}.Command(streams, cmd)
}

func completeCommand(streams command.Streams) *cobra.Command {
	var act recoup.IntakeBatchAct
	return command.Act[recoup.IntakeBatchSummary]{
		Reason: &act.Reason,
		Call: func(ctx context.Context, s *command.Session, args []string) (recoup.IntakeBatchSummary, error) {
			return s.GateZero.CompleteBatch(ctx, args[0], act)
		},
		Say: func(s *command.Session, b recoup.IntakeBatchSummary) {
			s.Sayf("%s is complete; it freezes at %s", command.Printable(b.ID), s.When(b.FreezeAt))
		},
	}.Command(streams, &cobra.Command{
		Use:   "complete BATCH",
		Short: "Complete the import of a batch: its recovery window begins",
		Long: `Completes the import of a batch. Nothing can be added to it afterwards, and its recovery window
begins: when it is over, the batch is frozen. Completing it again changes nothing.`,
		Example: `  recoup gate-zero complete spring-import`,
		Args:    command.ExactArgs("BATCH"),
	})
}

// killed is a kill switch, and whether this call has turned it.
type killed struct {
	recoup.KillSwitch
	before bool
}

func kill(streams command.Streams) *cobra.Command {
	var act recoup.IntakeBatchAct
	return command.Act[killed]{
		Reason: &act.Reason, Need: true,
		Call: func(ctx context.Context, s *command.Session, args []string) (k killed, err error) {
			before, _ := s.GateZero.KillSwitch(ctx, args[0]) // only to say whether this is new: what fails here fails the kill too
			k.KillSwitch, err = s.Client.GateZero.Kill(ctx, args[0], act)
			k.before = before.Killed && before.KilledAt.Equal(k.KilledAt)
			return k, err
		},
		Say: func(s *command.Session, k killed) {
			how := "is killed"
			if k.before {
				how = "was killed already"
			}
			s.Sayf("%s %s, by %s: %s", command.Printable(k.BatchID), how, command.Printable(k.KilledBy), cmp.Or(command.Printable(k.KillSwitch.Reason), "no reason was given"))
		},
	}.Command(streams, &cobra.Command{
		Use:   "kill BATCH",
		Short: "Stop a batch at once, until it is released",
		Long: `Kills a batch: from now on nothing in it is claimed, and what workers hold is taken back without
using an attempt. This lasts until the batch is released. The batch still freezes on time. Killing
it again changes nothing, neither who did it nor why.`,
		Example: `  recoup gate-zero kill spring-import --reason "wrong file"`,
		Args:    command.ExactArgs("BATCH"),
	})
}

func release(streams command.Streams) *cobra.Command {
	var act recoup.IntakeBatchAct
	return command.Act[recoup.KillSwitch]{
		Reason: &act.Reason,
		Call: func(ctx context.Context, s *command.Session, args []string) (recoup.KillSwitch, error) {
			return s.GateZero.Release(ctx, args[0], act)
		},
		Say: func(s *command.Session, k recoup.KillSwitch) { s.Sayf("%s is released", command.Printable(k.BatchID)) },
	}.Command(streams, &cobra.Command{
		Use:     "release BATCH",
		Short:   "Release a batch that was killed",
		Example: `  recoup gate-zero release spring-import --reason "corrected"`,
		Args:    command.ExactArgs("BATCH"),
	})
}

func show(streams command.Streams) *cobra.Command {
	return command.OnServer(streams, &cobra.Command{
		Use:     "show ID",
		Short:   "Show an intake, from its first result to its end",
		Example: `  recoup gate-zero show ` + command.AnID,
		Args:    command.ExactArgs("ID"),
	}, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		id, err := s.ID(recoup.IntakeIDs, args)
		if err != nil {
			return err
		}
		story, err := s.GateZero.Intake(ctx, id)
		switch {
		case err != nil:
			return err
		case s.Machine():
			return s.Print(story)
		}
		printStory(s, &story)
		return nil
	})
}

func printStory(s *command.Session, story *recoup.IntakeStory) {
	i := &story.Intake
	p := command.Page{Width: s.Width}
	p.Heading(command.Printable(i.CompanyName))
	p.Facts("id", i.ID.String(), "batch", i.BatchID, "status", string(i.Status), "domain", i.Domain, "linkedin", i.LinkedInURL,
		"state", i.State, "replaces", command.ID(i.PreviousID), "created", s.When(i.CreatedAt))
	if r := story.Recovery; r != nil {
		p.Heading("RECOVERY")
		next, reason := "", r.FailureReason
		if r.Status == "ACTIVE" {
			next = s.When(r.NextEligibleAt)
		}
		if r.Inconclusive {
			reason += " (inconclusive)"
		}
		p.Facts("status", string(r.Status), "attempts", fmt.Sprint(r.AttemptCount), "last reason", reason, "eligible", next,
			"worker", r.LeaseWorker, "lease ends", s.When(r.LeaseEndsAt), "batch killed", command.Yes(r.BatchKilled), "batch frozen", command.Yes(r.BatchFrozen))
	}
	fmt.Fprint(s.Out, p.String())
	printTimeline(s, story.Timeline)
}
