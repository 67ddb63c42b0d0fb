package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

func lettersTriage(streams Streams) *cobra.Command {
	var ask client.Triage
	var seen sighting
	var target letterTarget
	cmd := &cobra.Command{
		Use:   "triage [ID]",
		Short: "Triage: record the root cause (step 1 of 5)",
		Long: `Says what is the matter, and confirms what was looked at: the class of the failure, the stage
that failed, and whether its retries were exhausted. On a terminal it shows the dead letter
and asks for them; in a script --class, --stage and --exhausted say them. If the dead letter
says otherwise nothing happens. The class and the stage of a group are those of all in it.`,
		Example: `  recoup dead-letters triage 0198c0de-0000-7000-8000-000000000001 --cause transient
  recoup dead-letters triage 0198c0de-0000-7000-8000-000000000001 --cause data --exhausted yes
  recoup dead-letters triage --group 0198c0de-0000-7000-8000-000000000002 --cause data`,
	}
	causes := []string{client.CauseTransient, client.CauseData, client.CauseAuthConfig, client.CauseCodeDefect}
	target.add(cmd)
	cmd.Flags().StringVar(&ask.Cause, "cause", "", "the `CAUSE`: "+strings.Join(causes, ", ")+"; required")
	seen.add(cmd)
	cmd.Flags().StringVar(&ask.Note, "note", "", "what was found, as `TEXT` for the history")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) (err error) {
		if ask.Cause == "" {
			return usagef("--cause is missing: expected one of %s", strings.Join(causes, ", "))
		}
		if ask.Cause, err = oneOf("cause", ask.Cause, causes); err != nil {
			return err
		}
		if err := target.check(args); err != nil {
			return err
		}
		if err := seen.complete(ctx, s, &target, args); err != nil {
			return err
		}
		ask.Class, ask.Stage, ask.Exhausted = recoup.Code(seen.class), seen.stage, seen.spent()
		return target.act(s, args, "triaged",
			func(id recoup.ID) (client.DeadLetter, error) { return s.Triage(ctx, id, ask) },
			func(id recoup.ID, how client.ForGroup) (client.BulkResult, error) {
				return s.TriageGroup(ctx, id, client.GroupTriage{Triage: ask, ForGroup: how})
			})
	})
}

func lettersRemediate(streams Streams) *cobra.Command {
	var ask client.Remediation
	var target letterTarget
	cmd := &cobra.Command{
		Use:   "remediate [ID]",
		Short: "Say what was done about it, as its cause demands",
		Long: `Says what was done about it. A link to the ticket or incident is required, and what the cause
demands: --upstream-checked for a transient one, --corrected for data, --fixed for
authentication or configuration, --release and --validated-in for a code defect.`,
		Example: `  recoup dead-letters remediate 0198c0de-0000-7000-8000-000000000001 --link INC-7 --corrected title`,
	}
	target.add(cmd)
	for _, f := range []struct {
		text        *string
		name, usage string
	}{
		{&ask.Link, "link", "the ticket or incident, a `LINK`; required"},
		{&ask.UpstreamChecked, "upstream-checked", "how the upstream was seen to be back, as `TEXT`"},
		{&ask.Corrected, "corrected", "what was corrected, as `TEXT`"},
		{&ask.Fixed, "fixed", "what was rotated or fixed, as `TEXT`"},
		{&ask.Release, "release", "the `RELEASE` with the fix"},
		{&ask.ValidatedIn, "validated-in", "`WHERE` the fix was validated"},
		{&ask.Note, "note", "more, as `TEXT` for the history"},
	} {
		cmd.Flags().StringVar(f.text, f.name, "", f.usage)
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		if ask.Link == "" {
			return usagef("--link is missing: expected the ticket or incident")
		}
		return target.act(s, args, "remediated",
			func(id recoup.ID) (client.DeadLetter, error) { return s.Remediate(ctx, id, ask) },
			func(id recoup.ID, how client.ForGroup) (client.BulkResult, error) {
				return s.RemediateGroup(ctx, id, client.GroupRemediation{Remediation: ask, ForGroup: how})
			})
	})
}

func lettersValidate(streams Streams) *cobra.Command {
	var ask client.Validation
	var target letterTarget
	cmd := &cobra.Command{
		Use:   "validate [ID]",
		Short: "Say that a replay does no harm",
		Example: `  recoup dead-letters validate 0198c0de-0000-7000-8000-000000000001 --idempotent
  recoup dead-letters validate --group 0198c0de-0000-7000-8000-000000000002 --idempotent`,
	}
	target.add(cmd)
	cmd.Flags().BoolVar(&ask.Idempotent, "idempotent", false, "doing it twice is as good as doing it once")
	cmd.Flags().StringVar(&ask.DuplicateSafe, "duplicate-safe", "", "else: why a second effect does no harm, as `TEXT`")
	cmd.Flags().StringVar(&ask.Note, "note", "", "more, as `TEXT` for the history")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		if !ask.Idempotent && ask.DuplicateSafe == "" {
			return usagef("expected --idempotent, or --duplicate-safe with the reason why a second effect does no harm")
		}
		return target.act(s, args, "validated",
			func(id recoup.ID) (client.DeadLetter, error) { return s.Validate(ctx, id, ask) },
			func(id recoup.ID, how client.ForGroup) (client.BulkResult, error) {
				return s.ValidateGroup(ctx, id, client.GroupValidation{Validation: ask, ForGroup: how})
			})
	})
}

func lettersVerify(streams Streams) *cobra.Command {
	var ask client.Verification
	var target letterTarget
	var not bool
	cmd := &cobra.Command{
		Use:   "verify [ID]",
		Short: "Say whether the result has arrived, and close",
		Example: `  recoup dead-letters verify 0198c0de-0000-7000-8000-000000000001 --note "the channel has it"
  recoup dead-letters verify 0198c0de-0000-7000-8000-000000000001 --not-delivered --note no`,
	}
	target.add(cmd)
	cmd.Flags().BoolVar(&not, "not-delivered", false, "it has not arrived: back to triage")
	cmd.Flags().StringVar(&ask.Note, "note", "", "what was seen, as `TEXT` for the history; required")
	cmd.Flags().StringVar(&ask.Link, "link", "", "the ticket or incident, a `LINK`")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		if ask.Note == "" {
			return usagef("--note is missing: expected what was seen")
		}
		past := "verified and closed"
		if ask.Outcome = "DELIVERED"; not {
			ask.Outcome, past = "NOT_DELIVERED", "sent back to triage"
		}
		return target.act(s, args, past,
			func(id recoup.ID) (client.DeadLetter, error) { return s.Verify(ctx, id, ask) },
			func(id recoup.ID, how client.ForGroup) (client.BulkResult, error) {
				return s.VerifyGroup(ctx, id, client.GroupVerification{Verification: ask, ForGroup: how})
			})
	})
}
