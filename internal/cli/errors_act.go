package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

// errorVerb is an act as a command.
type errorVerb struct {
	verb   client.Verb
	past   string
	short  string
	reason bool // it must be given
}

var errorVerbs = []errorVerb{
	{client.Park, "parked", "Hold errors for a person", true},
	{client.Unpark, "unparked", "Send parked errors back to be retried", true},
	{client.Resolve, "resolved", "End errors by hand", true},
	{client.Escalate, "escalated", "Move parked errors up the ladder", true},
	{client.Archive, "archived", "Move errors to the archive before their time", true},
	{client.Assign, "assigned", "Give parked errors to someone", false},
	{client.Review, "reviewed", "Record that you have looked at parked errors", false},
}

// actRequest is an act as its flags describe it.
type actRequest struct {
	errorVerb
	client.Act
	filter           errorFilter
	all, yes, dryRun bool
}

func (v errorVerb) command(streams Streams) *cobra.Command {
	ask := &actRequest{errorVerb: v}
	use := string(v.verb)
	example := fmt.Sprintf("  recoup errors %s 0198c0de-0000-7000-8000-000000000001", use)
	filtered := fmt.Sprintf("  recoup errors %s --table outreach.dol_errors --code EIN_MISMATCH --dry-run", use)
	cmd := &cobra.Command{Short: v.short}
	reason := "why, as `TEXT` for the history"
	if v.reason {
		reason += "; required"
	}
	switch v.verb {
	case client.Escalate:
		cmd.Flags().IntVar(&ask.Tier, "to-tier", 0, "tier `N`, 1 to 3 (default: the next)")
	case client.Assign:
		cmd.Flags().StringVar(&ask.To, "to", "", "the new `OWNER`; required")
		example, filtered = example+" --to ada", filtered+" --to ada"
	}
	if v.reason {
		example, filtered = example+" --reason known", filtered+" --reason known"
	}
	cmd.Use, cmd.Example = use+" [ID…]", example+"\n"+filtered
	cmd.Long = v.short + `.

It takes ids, or a filter. A filter says first what it would do, and asks for a
confirmation on a terminal. The exit status is 1 if anything that was asked for could not
be done.`
	ask.filter.add(cmd)
	cmd.Flags().StringVar(&ask.Reason, "reason", "", reason)
	cmd.Flags().BoolVar(&ask.all, "all", false, "every open error, if no filter is given")
	cmd.Flags().BoolVar(&ask.dryRun, "dry-run", false, "say what would happen, and do nothing")
	yesFlag(cmd, &ask.yes)
	return onServer(streams, cmd, ask.run)
}

func (a *actRequest) run(ctx context.Context, s *session, args []string) error {
	ids, filter, err := a.read(s, args)
	switch {
	case err != nil:
		return err
	case len(ids) == 1 && !a.dryRun:
		return a.one(ctx, s, ids[0])
	case len(ids) == 0:
		return a.filtered(ctx, s, filter)
	}
	return a.show(s, a.many(ctx, s, inSteps(ids, a.dryRun), len(ids)))
}

// read checks the flags: ids or a filter, and what the verb needs.
func (a *actRequest) read(s *session, args []string) ([]recoup.ID, client.Filter, error) {
	ids, err := parseIDs(args)
	if err != nil {
		return nil, client.Filter{}, err
	}
	f, err := a.filter.read(s.now())
	if err != nil {
		return nil, f, err
	}
	empty := f == client.Filter{}
	switch {
	case len(ids) > 0 && (!empty || a.all):
		return nil, f, usagef("ids and a filter are given: expected one of the two")
	case len(ids) == 0 && empty && !a.all:
		return nil, f, usagef("neither an id nor a filter is given: --all means every open error")
	case a.reason && strings.TrimSpace(a.Reason) == "":
		return nil, f, usagef("--reason is missing: the history keeps why it was done")
	case a.verb == client.Assign && a.To == "":
		return nil, f, usagef("--to is missing: expected the new owner")
	case a.Tier < 0 || a.Tier > recoup.MaxTier:
		return nil, f, usagef("--to-tier is %d: expected a number from 1 to %d", a.Tier, recoup.MaxTier)
	}
	return ids, f, nil
}

// one acts on a single error, whose refusal says most.
func (a *actRequest) one(ctx context.Context, s *session, id recoup.ID) error {
	done, err := s.Act(ctx, a.verb, id, a.Act)
	switch {
	case err != nil:
		return err
	case s.json:
		return printJSON(s.Out, done)
	}
	fmt.Fprintf(s.Out, "%s %s: %s\n", done.Error.ID, a.past, s.standing(&done.Error))
	if done.Warning != "" {
		fmt.Fprintf(s.Err, "Note: %s\n", printable(words(strings.ToLower(done.Warning))))
	}
	return nil
}

// filtered acts on the errors that a filter selects now. It looks the set up
// once, so that what is done is done to exactly those that were shown, as they were
// shown: what changes before the answer is given is left alone and told.
func (a *actRequest) filtered(ctx context.Context, s *session, f client.Filter) error {
	if err := s.askable(a.yes || a.dryRun); err != nil {
		return err
	}
	ids, err := a.members(ctx, s, f)
	if err != nil {
		return err
	}
	if a.yes && !a.dryRun {
		return a.show(s, a.many(ctx, s, inSteps(ids, false), len(ids)))
	}
	preview := a.many(ctx, s, inSteps(ids, true), len(ids))
	if preview.err != nil || a.dryRun || len(ids) == 0 {
		return a.show(s, preview)
	}
	a.tell(s, preview.BulkResult)
	if preview.Applied == 0 {
		return errSilent
	}
	question := fmt.Sprintf("%s %s?", capital(string(a.verb)), count(preview.Applied, "error"))
	if err := s.confirm(question, fmt.Sprint(preview.Applied)); err != nil {
		return err
	}
	return a.show(s, a.many(ctx, s, preview.frozen, preview.Matched))
}

// maxActs is the most errors of one act, which is also the server's bound.
const maxActs = 10_000

func (a *actRequest) members(ctx context.Context, s *session, f client.Filter) ([]recoup.ID, error) {
	advance, end := s.progress("selecting")
	defer end()
	var ids []recoup.ID
	for e, err := range s.AllErrors(ctx, f) {
		if err != nil {
			return nil, err
		}
		if ids = append(ids, e.ID); len(ids) > maxActs {
			return nil, fmt.Errorf("the filter selects more than %d errors: narrow it", maxActs)
		}
		advance(len(ids), -1)
	}
	return ids, nil
}

// outcome is what became of many, as far as it went.
type outcome struct {
	client.BulkResult
	frozen []client.Bulk // of a preview: what to ask for to act on what it has shown
	err    error
}

// actStep is how many errors one request changes: few enough to see it go on.
const actStep = 200

// inSteps asks for errors in steps.
func inSteps(ids []recoup.ID, preview bool) (steps []client.Bulk) {
	for step := range slices.Chunk(ids, actStep) {
		steps = append(steps, client.Bulk{IDs: step, Preview: preview})
	}
	return steps
}

// many acts on errors step by step, or says what would happen to them.
func (a *actRequest) many(ctx context.Context, s *session, steps []client.Bulk, total int) outcome {
	what, sum := string(a.verb), outcome{}
	if len(steps) > 0 && steps[0].Preview {
		what, sum.Preview = "previewing", true
	}
	advance, end := s.progress(what)
	defer end()
	for _, step := range steps {
		step.Act = a.Act
		done, err := s.Bulk(ctx, a.verb, step)
		if err != nil {
			sum.err = err
			break
		}
		sum.Matched, sum.Applied, sum.NotDone = sum.Matched+done.Matched, sum.Applied+done.Applied, sum.NotDone+done.NotDone
		sum.Refused = append(sum.Refused, done.Refused...)
		if done.Token != "" {
			sum.frozen = append(sum.frozen, client.Bulk{Token: done.Token})
		}
		advance(sum.Matched, total)
	}
	return sum
}
