package deadletters

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func triage(streams command.Streams) *cobra.Command {
	var ask recoup.Triage
	var cause string
	var seen sighting
	var at target
	cmd := &cobra.Command{
		Use:   "triage [ID]",
		Short: "Triage: record the root cause (step 1 of 5)",
		Long: `Records the root cause, and confirms what was inspected: the class of the failure, the stage
that failed, and whether its retries were exhausted. On a terminal it shows the dead letter and
asks for them; in a script --class, --stage and --exhausted give them. If the dead letter says
otherwise nothing is changed. The class and the stage of a group are the same for all in it.`,
		Example: `  recoup dead-letters triage ` + command.AnID + ` --cause transient
  recoup dead-letters triage --group ` + command.AnID + ` --cause data`,
	}
	causes := []recoup.Cause{recoup.CauseTransient, recoup.CauseData, recoup.CauseAuthConfig, recoup.CauseCodeDefect}
	at.add(cmd)
	cmd.Flags().StringVar(&cause, "cause", "", "root `CAUSE`: "+command.Join(causes)+"; required")
	seen.add(cmd)
	cmd.Flags().StringVar(&ask.Note, "note", "", "what was found, as `TEXT` for the history")
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) (err error) {
		if cause == "" {
			return command.Usagef("--cause is missing: expected one of %s", command.Join(causes))
		}
		if ask.Cause, err = command.OneOf("cause", cause, causes); err != nil {
			return err
		}
		if err := seen.complete(ctx, s, &at, args); err != nil {
			return err
		}
		ask.Class, ask.Stage, ask.Exhausted = recoup.Code(seen.class), seen.stage, seen.spent()
		return at.act(s, args, "triaged",
			func(id recoup.ID) (recoup.DeadLetter, error) { return s.DeadLetters.Triage(ctx, id, ask) },
			func(id recoup.ID, how recoup.ForGroup) (recoup.BulkResult, error) {
				return s.DeadLetterGroups.Triage(ctx, id, recoup.GroupTriage{Triage: ask, ForGroup: how})
			})
	})
}

func remediate(streams command.Streams) *cobra.Command {
	var ask recoup.Remediation
	var at target
	cmd := &cobra.Command{
		Use:   "remediate [ID]",
		Short: "Remediate: record what was done about the cause (step 2 of 5)",
		Long: `Records what was done about the cause. A link to the ticket or incident is required, and what
the cause demands: --upstream-checked if it was transient, --corrected for data, --fixed for
authentication or configuration, --release and --validated-in for a code defect.`,
		Example: `  recoup dead-letters remediate ` + command.AnID + ` --link T-7 --fixed x`,
	}
	at.add(cmd)
	for _, f := range []struct {
		text        *string
		name, usage string
	}{
		{&ask.Link, "link", "`LINK` to the ticket or incident; required"},
		{&ask.UpstreamChecked, "upstream-checked", "how the upstream was seen to have recovered, as `TEXT`"},
		{&ask.Corrected, "corrected", "what was corrected, as `TEXT`"},
		{&ask.Fixed, "fixed", "what was rotated or fixed, as `TEXT`"},
		{&ask.Release, "release", "the `RELEASE` with the fix"},
		{&ask.ValidatedIn, "validated-in", "the `ENVIRONMENT` in which the fix was validated"},
		{&ask.Note, "note", "more, as `TEXT` for the history"},
	} {
		cmd.Flags().StringVar(f.text, f.name, "", f.usage)
	}
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		if ask.Link == "" {
			return command.Usagef("--link is missing: expected the ticket or incident")
		}
		return at.act(s, args, "remediated",
			func(id recoup.ID) (recoup.DeadLetter, error) { return s.DeadLetters.Remediate(ctx, id, ask) },
			func(id recoup.ID, how recoup.ForGroup) (recoup.BulkResult, error) {
				return s.DeadLetterGroups.Remediate(ctx, id, recoup.GroupRemediation{Remediation: ask, ForGroup: how})
			})
	})
}

func validate(streams command.Streams) *cobra.Command {
	var ask recoup.Validation
	var at target
	cmd := &cobra.Command{
		Use:   "validate [ID]",
		Short: "Validate: confirm that a replay is safe (step 3 of 5)",
		Example: `  recoup dead-letters validate ` + command.AnID + ` --idempotent
  recoup dead-letters validate --group ` + command.AnID + ` --idempotent`,
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&ask.Idempotent, "idempotent", false, "the work is idempotent")
	cmd.Flags().StringVar(&ask.DuplicateSafe, "duplicate-safe", "", "if it is not: why a second effect does no harm, as `TEXT`")
	cmd.Flags().StringVar(&ask.Note, "note", "", "more, as `TEXT` for the history")
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		if !ask.Idempotent && ask.DuplicateSafe == "" {
			return command.Usagef("expected --idempotent, or --duplicate-safe with the reason why a second effect does no harm")
		}
		return at.act(s, args, "validated",
			func(id recoup.ID) (recoup.DeadLetter, error) { return s.DeadLetters.Validate(ctx, id, ask) },
			func(id recoup.ID, how recoup.ForGroup) (recoup.BulkResult, error) {
				return s.DeadLetterGroups.Validate(ctx, id, recoup.GroupValidation{Validation: ask, ForGroup: how})
			})
	})
}

func verify(streams command.Streams) *cobra.Command {
	var ask recoup.Verification
	var at target
	var not bool
	cmd := &cobra.Command{
		Use:   "verify [ID]",
		Short: "Verify: confirm that the result arrived, and close (step 5 of 5)",
		Example: `  recoup dead-letters verify ` + command.AnID + ` --note "received"
  recoup dead-letters verify --group ` + command.AnID + ` --note received`,
	}
	at.add(cmd)
	cmd.Flags().BoolVar(&not, "not-delivered", false, "the result did not arrive: back to triage")
	cmd.Flags().StringVar(&ask.Note, "note", "", "what was observed, as `TEXT` for the history; required")
	cmd.Flags().StringVar(&ask.Link, "link", "", "`LINK` to the ticket or incident")
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		if ask.Note == "" {
			return command.Usagef("--note is missing: expected what was observed")
		}
		past := "verified and closed"
		if ask.Outcome = "DELIVERED"; not {
			ask.Outcome, past = "NOT_DELIVERED", "sent back to triage"
		}
		return at.act(s, args, past,
			func(id recoup.ID) (recoup.DeadLetter, error) { return s.DeadLetters.Verify(ctx, id, ask) },
			func(id recoup.ID, how recoup.ForGroup) (recoup.BulkResult, error) {
				return s.DeadLetterGroups.Verify(ctx, id, recoup.GroupVerification{Verification: ask, ForGroup: how})
			})
	})
}
