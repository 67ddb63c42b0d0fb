package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

func deadLettersCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead-letters",
		Short: "Take work that failed for good back to work, step by step",
		Long: `A dead letter is work that a stage of a pipeline could not finish. It leaves in five steps,
none of which can be skipped: triage says what is the matter, remediate what was done about
it, validate that a replay does no harm, replay sends it back to the stage that failed, and
verify closes it once the result has arrived.

The first three and the last take an id, or --group for all that have the same cause.`,
		Example: `  recoup dead-letters list --pipeline criticizer
  recoup dead-letters triage 0198c0de-0000-7000-8000-000000000001 --cause data
  recoup dead-letters replay --pipeline criticizer --rate 5 --reason "the vendor is back" --dry-run`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(lettersList(streams), lettersGroups(streams), lettersShow(streams), lettersTriage(streams), lettersRemediate(streams),
		lettersValidate(streams), lettersReplay(streams), lettersVerify(streams))
	return cmd
}

// letterFilter selects dead letters, by the same conditions as the API.
type letterFilter struct{ pipeline, stage, class, group, before, after string }

func (f *letterFilter) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.pipeline, "pipeline", "", "only of this `PIPELINE`")
	flags.StringVar(&f.stage, "stage", "", "only what failed at this `STAGE`")
	flags.StringVar(&f.class, "class", "", "only failures of this `CODE`")
	flags.StringVar(&f.group, "group", "", "only of the group of this `ID`")
	flags.StringVar(&f.before, "before", "", "only from before this `TIME`, or older than an age such as 48h")
	flags.StringVar(&f.after, "after", "", "only from this `TIME` on, or not older than an age such as 48h")
}

func (f *letterFilter) read(s *session) (out client.DeadLetterFilter, err error) {
	out = client.DeadLetterFilter{Pipeline: f.pipeline, Stage: f.stage, Class: f.class}
	if f.group != "" {
		if out.GroupID, err = groupID(f.group); err != nil {
			return out, err
		}
	}
	if out.Before, err = parseInstant("before", f.before, s.now()); err != nil {
		return out, err
	}
	out.After, err = parseInstant("after", f.after, s.now())
	return out, err
}

func lettersList(streams Streams) *cobra.Command {
	var filter letterFilter
	var step string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, newest first",
		Example: `  recoup dead-letters list --step NEW
  recoup dead-letters list --pipeline criticizer --class NETWORK_TIMEOUT --limit 500`,
		Args: noArgs,
	}
	filter.add(cmd)
	steps := []string{client.StepNew, client.StepTriaged, client.StepRemediated, client.StepValidated, client.StepReplaying, client.StepReplayed, client.StepVerified}
	cmd.Flags().StringVar(&step, "step", "", "only those at this `STEP`: "+strings.Join(steps, ", "))
	cmd.Flags().IntVar(&limit, "limit", defaultRows, "at most `N` rows, up to 1000")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		f, err := filter.read(s)
		if err != nil {
			return err
		}
		if f.Step, err = oneOf("step", step, steps); err != nil {
			return err
		}
		if limit < 1 || limit > maxRows {
			return usagef("--limit is %d: expected a number from 1 to %d", limit, maxRows)
		}
		list, err := s.DeadLetters(ctx, f, client.Page{Limit: limit})
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		case len(list.DeadLetters) == 0:
			fmt.Fprintln(s.Err, "No dead letter matches.")
			return nil
		}
		t := newTable(s.Streams, "ID", "PIPELINE", "STAGE", "CLASS", "STEP", "ROUND", "OWNER", "AGE", "ERROR").prose("ERROR")
		for i := range list.DeadLetters {
			d := &list.DeadLetters[i]
			t.add(d.ErrorID.String(), d.Pipeline, d.Stage, string(d.Class), d.Step, fmt.Sprint(d.Round), d.Owner, s.ago(d.CreatedAt), d.Signature)
		}
		fmt.Fprint(s.Out, t)
		more := "."
		if list.Next != "" {
			more = "; there are more: --limit N shows them."
		}
		fmt.Fprintf(s.Err, "\n%s%s\n", count(len(list.DeadLetters), "dead letter"), more)
		return nil
	})
}

func lettersGroups(streams Streams) *cobra.Command {
	var pipeline string
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "List groups of dead letters with the same cause, the last seen first",
		Example: `  recoup dead-letters groups
  recoup dead-letters groups --pipeline criticizer`,
		Args: noArgs,
	}
	cmd.Flags().StringVar(&pipeline, "pipeline", "", "only of this `PIPELINE`")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		list, err := s.DeadLetterGroups(ctx, pipeline, client.Page{Limit: maxRows})
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		case len(list.Groups) == 0:
			fmt.Fprintln(s.Err, "There is no group.")
			return nil
		}
		t := newTable(s.Streams, "ID", "PIPELINE", "STAGE", "CLASS", "OPEN", "TOTAL", "LAST", "OWNER", "ERROR").prose("ERROR")
		for _, g := range list.Groups {
			t.add(g.ID.String(), g.Pipeline, g.Stage, string(g.Class), fmt.Sprint(g.Open), fmt.Sprint(g.Total), s.relative(g.LastSeenAt), g.Owner, g.Signature)
		}
		fmt.Fprint(s.Out, t)
		return nil
	})
}

func lettersShow(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a dead letter: its failures, its notes and its replays",
		Example: "  recoup dead-letters show 0198c0de-0000-7000-8000-000000000001",
		Args:    exactArgs("ID"),
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		d, err := s.DeadLetter(ctx, id)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, d)
		}
		var p page
		s.describeLetter(&p, &d)
		fmt.Fprint(s.Out, p.String())
		return nil
	})
}

// describeLetter prints what is known of a dead letter.
func (s Streams) describeLetter(p *page, d *client.DeadLetterDetails) {
	p.heading(string(d.Class) + " at " + d.Stage)
	p.known(
		fact{"id", d.ErrorID.String()}, fact{"work", d.WorkID.String()}, fact{"pipeline", d.Pipeline}, fact{"entity", d.EntityID},
		fact{"step", d.Step}, fact{"next", d.Next}, fact{"cause", d.Cause}, fact{"exhausted", exhausted(d.Exhausted)}, fact{"state", string(d.State)}, fact{"parked for", d.ParkReason}, fact{"owner", d.Owner},
		fact{"group", d.GroupID.String()}, fact{"payload", d.PayloadRef}, fact{"replay", id(d.ReplayID)}, fact{"previous", id(d.PreviousID)},
		fact{"first failure", s.when(d.FirstFailureAt)}, fact{"last failure", s.when(d.LastFailureAt)}, fact{"expires", s.when(d.ExpiresAt)},
		fact{"closed", s.when(d.ClosedAt)},
	)
	for _, r := range d.Rounds {
		p.heading(fmt.Sprintf("Round %d", r.Round))
		p.known(fact{"failed", string(r.Class) + " at " + r.Stage + ", " + s.relative(r.LastFailureAt)}, fact{"context", string(r.Context)})
		for line := range strings.Lines(r.LastStack) {
			p.verbatim(printable(strings.TrimRight(line, "\n")) + "\n")
		}
	}
	if len(d.Notes) > 0 {
		p.heading("Notes")
		rows := make([][]string, len(d.Notes))
		for i, n := range d.Notes {
			rows[i] = []string{printable(n.Step), printable(n.Actor), s.relative(n.At), cmp.Or(printable(strings.TrimSpace(n.Text+" "+n.Link+" "+string(n.Fields))), "-")}
		}
		p.columns(rows...)
	}
}

// exhausted says whether the retries of what failed were exhausted.
func exhausted(yes bool) string {
	if yes {
		return "yes: it could be retried, and failed each time"
	}
	return "no"
}

// letterTarget is what an act is about: one dead letter, or a group of them.
type letterTarget struct {
	group       string
	dryRun, yes bool
}

func (t *letterTarget) add(cmd *cobra.Command) {
	cmd.Args = atMostArg
	cmd.Flags().StringVar(&t.group, "group", "", "all open ones of the group of this `ID`, instead of one")
	cmd.Flags().BoolVar(&t.dryRun, "dry-run", false, "of a group: say what would happen, and do nothing")
	yesFlag(cmd, &t.yes)
}

// check wants one of the two.
func (t *letterTarget) check(args []string) (err error) {
	switch {
	case (len(args) == 1) == (t.group != ""):
		return usagef("expected the ID of a dead letter, or --group ID")
	case t.group != "":
		_, err = groupID(t.group)
	default:
		_, err = oneID(args)
	}
	return err
}

// act does an act on whatever was asked for.
func (t *letterTarget) act(s *session, args []string, past string,
	one func(recoup.ID) (client.DeadLetter, error), all func(recoup.ID, client.ForGroup) (client.BulkResult, error)) error {
	if err := t.check(args); err != nil {
		return err
	}
	if t.group != "" {
		return t.actAll(s, past, all)
	}
	id, err := oneID(args)
	if err != nil {
		return err
	}
	d, err := one(id)
	switch {
	case err != nil:
		return err
	case s.json:
		return printJSON(s.Out, d)
	}
	next := "."
	if d.Next != "" {
		next = "; next: " + d.Next + "."
	}
	fmt.Fprintf(s.Out, "%s %s%s\n", d.ErrorID, past, next)
	return nil
}

// actAll says first what would happen to a group, and asks whether that is meant.
func (t *letterTarget) actAll(s *session, past string, all func(recoup.ID, client.ForGroup) (client.BulkResult, error)) error {
	id, err := groupID(t.group)
	if err != nil {
		return err
	}
	if err := s.askable(t.yes || t.dryRun); err != nil {
		return err
	}
	would, err := all(id, client.ForGroup{Preview: true})
	if err != nil {
		return err
	}
	if !t.dryRun && would.Applied > 0 {
		if !t.yes {
			if err := s.confirm(fmt.Sprintf("%s of %d would be %s.", count(would.Applied, "dead letter"), would.Matched, past), fmt.Sprint(would.Applied)); err != nil {
				return err
			}
		}
		if would, err = all(id, client.ForGroup{Token: would.Token}); err != nil {
			return err
		}
	}
	if s.json {
		return printJSON(s.Out, would)
	}
	verb := past
	if would.Preview {
		verb = "would be " + past
	}
	fmt.Fprintf(s.Out, "%s of %d %s.\n", count(would.Applied, "dead letter"), would.Matched, verb)
	for _, r := range would.Refused {
		fmt.Fprintf(s.Err, "%s: %s\n", r.ID, printable(r.Reason))
	}
	if would.Applied == 0 {
		return errSilent
	}
	return nil
}
