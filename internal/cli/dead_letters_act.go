package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

func lettersTriage(streams Streams) *cobra.Command {
	var ask client.Triage
	var target letterTarget
	cmd := &cobra.Command{
		Use:   "triage [ID]",
		Short: "Say what is the matter: the first step",
		Example: `  recoup dead-letters triage 0198c0de-0000-7000-8000-000000000001 --cause transient
  recoup dead-letters triage --group 0198c0de-0000-7000-8000-000000000002 --cause data --yes`,
	}
	causes := []string{client.CauseTransient, client.CauseData, client.CauseAuthConfig, client.CauseCodeDefect}
	target.add(cmd)
	cmd.Flags().StringVar(&ask.Cause, "cause", "", "the `CAUSE`: "+strings.Join(causes, ", ")+"; required")
	cmd.Flags().StringVar(&ask.Note, "note", "", "what was found, as `TEXT` for the history")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) (err error) {
		if ask.Cause == "" {
			return usagef("--cause is missing: expected one of %s", strings.Join(causes, ", "))
		}
		if ask.Cause, err = oneOf("cause", ask.Cause, causes); err != nil {
			return err
		}
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

// replayRequest is a replay as its flags describe it.
type replayRequest struct {
	client.NewReplay
	filter                     letterFilter
	noRamp, dryRun, yes, watch bool
}

func lettersReplay(streams Streams) *cobra.Command {
	ask := &replayRequest{}
	cmd := &cobra.Command{
		Use:   "replay [ID…]",
		Short: "Send dead letters back to work, at the stage that failed",
		Long: `Sends dead letters back to work: named ones, or all that a filter selects and that can be
replayed. It says first which can and which cannot, and asks for a confirmation on a terminal.

A replay begins with one item, goes on with a tenth and then with the rest, each step once
the results of the last are there. It stops by itself when too many fail, or when the same
failure comes back.`,
		Example: `  recoup dead-letters replay 0198c0de-0000-7000-8000-000000000001 --reason corrected
  recoup dead-letters replay --pipeline criticizer --rate 5 --reason corrected --watch`,
	}
	ask.filter.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&ask.All, "all", false, "every dead letter, if no filter is given")
	flags.StringVar(&ask.FromStart, "from-start", "", "run all of the pipeline again, from its first `STAGE` on")
	flags.Float64Var(&ask.Plan.Rate, "rate", 0, "`N` items per second (default 10)")
	flags.IntVar(&ask.Plan.Concurrency, "concurrency", 0, "at most `N` at a time (default 100)")
	flags.Float64Var(&ask.Plan.Limit, "limit", 0, "the `SHARE` of failures above which it stops (default 0.1)")
	flags.BoolVar(&ask.noRamp, "no-ramp", false, "all at the same rate from the beginning")
	flags.StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for the history; required")
	flags.BoolVar(&ask.dryRun, "dry-run", false, "say what would be replayed, and do nothing")
	flags.BoolVar(&ask.watch, "watch", false, "stay and show how it goes")
	yesFlag(cmd, &ask.yes)
	return onServer(streams, cmd, ask.run)
}

func (a *replayRequest) run(ctx context.Context, s *session, args []string) error {
	if err := a.read(s, args); err != nil {
		return err
	}
	if len(a.IDs) != 1 || a.dryRun {
		if err := s.askable(a.yes || a.dryRun); err != nil {
			return err
		}
		if err := a.preview(ctx, s); err != nil || a.dryRun {
			return err
		}
	}
	r, err := s.Replay(ctx, a.NewReplay)
	switch {
	case err != nil:
		return err
	case a.watch:
		return s.watchReplay(ctx, r.ID, watchEvery)
	case s.json:
		return printJSON(s.Out, r)
	}
	fmt.Fprintf(s.Out, "%s %s\n", r.ID, replayLine(&r))
	fmt.Fprintf(s.Err, "'recoup replays watch %s' shows how it goes.\n", r.ID)
	return nil
}

// read checks the flags: ids or a filter, and a reason.
func (a *replayRequest) read(s *session, args []string) error {
	ids, err := parseIDs(args)
	if err != nil {
		return err
	}
	f, err := a.filter.read(s)
	if err != nil {
		return err
	}
	empty := f == client.DeadLetterFilter{}
	switch {
	case len(ids) > 0 && (!empty || a.All):
		return usagef("ids and a filter are given: expected one of the two")
	case len(ids) == 0 && empty && !a.All:
		return usagef("neither an id nor a filter is given: --all means every dead letter")
	case strings.TrimSpace(a.Reason) == "" && !a.dryRun:
		return usagef("--reason is missing: the history keeps why it was done")
	}
	if a.noRamp {
		a.Plan.Canary = -1
	}
	a.IDs, a.Pipeline, a.Stage, a.Class, a.GroupID, a.Before, a.After = ids, f.Pipeline, f.Stage, f.Class, f.GroupID, f.Before, f.After
	return nil
}

// preview says what can be replayed and what not, and asks whether that is meant.
func (a *replayRequest) preview(ctx context.Context, s *session) error {
	p, err := s.PreviewReplay(ctx, a.ReplaySelection)
	if err != nil {
		return err
	}
	if a.dryRun && s.json {
		return printJSON(s.Out, p)
	}
	more := ""
	if p.More {
		more = " or more"
	}
	out := s.Err
	if a.dryRun {
		out = s.Out
	}
	fmt.Fprintf(out, "%s%s can be replayed.\n", count(p.Eligible, "dead letter"), more)
	for _, reason := range slices.Sorted(maps.Keys(p.NotEligible)) {
		fmt.Fprintf(out, "%d cannot: %s\n", p.NotEligible[reason], printable(words(strings.ToLower(reason))))
	}
	switch {
	case p.Eligible == 0:
		return errSilent
	case a.dryRun || a.yes:
		return nil
	}
	return s.confirm(fmt.Sprintf("Replay %s%s?", count(p.Eligible, "dead letter"), more), fmt.Sprint(p.Eligible))
}
