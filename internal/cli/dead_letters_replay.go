package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
)

// replayRequest is a replay as its flags describe it.
type replayRequest struct {
	client.NewReplay
	filter                     letterFilter
	noRamp, dryRun, yes, watch bool
	given                      func(flag string) bool
}

func lettersReplay(streams Streams) *cobra.Command {
	ask := &replayRequest{}
	cmd := &cobra.Command{
		Use:   "replay [ID…]",
		Short: "Send dead letters back to work, at the stage that failed",
		Long: `Sends dead letters back to work: named ones, or all that a filter selects and that can be
replayed, 10000 at most. It says first which can and which cannot, and asks for a confirmation
on a terminal. What is replayed is what was shown: dead letters that become ready meanwhile, or
that change, are not among them.

A replay begins with one item, goes on with a tenth and then with the rest, each step once
the results of the last are there. It stops by itself when too many fail, or when the same
failure comes back.`,
		Example: `  recoup dead-letters replay 0198c0de-0000-7000-8000-000000000001 --reason corrected
  recoup dead-letters replay --pipeline criticizer --rate 5 --reason corrected --watch`,
	}
	ask.filter.add(cmd)
	flags := cmd.Flags()
	ask.given = flags.Changed
	flags.BoolVar(&ask.All, "all", false, "every dead letter, if no filter is given")
	flags.StringVar(&ask.FromStart, "from-start", "", "run all of the pipeline again, from its first `STAGE` on")
	flags.Float64Var(&ask.Plan.Rate, "rate", 0, "`N` items per second (default 10)")
	flags.IntVar(&ask.Plan.Concurrency, "concurrency", 0, "at most `N` at a time (default 100)")
	flags.Float64Var(&ask.Plan.Limit, "failure-limit", 0, "the `SHARE` of failures above which it stops, limit in the API (default 0.1)")
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
	a.warn(s)
	if len(a.IDs) != 1 || a.dryRun {
		if err := s.askable(a.yes || a.dryRun); err != nil {
			return err
		}
		if err := a.preview(ctx, s); err != nil || a.dryRun {
			return err
		}
	}
	r, err := s.Replay(ctx, a.asked())
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

// asked is the replay to begin: of what the preview has shown, where there was one.
func (a *replayRequest) asked() client.NewReplay {
	r := a.NewReplay
	if r.Token != "" {
		r.ReplaySelection = client.ReplaySelection{FromStart: r.FromStart}
	}
	return r
}

// warn says what nobody can check: which stages a pipeline has, its workers know.
func (a *replayRequest) warn(s *session) {
	if a.FromStart != "" && !s.json {
		fmt.Fprintf(s.Err, "They begin again at the stage %s, and wait there for a worker that takes it. A name that no worker knows is not noticed.\n", printable(a.FromStart))
	}
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
	if err := a.checkPlan(); err != nil {
		return err
	}
	a.IDs, a.Pipeline, a.Stage, a.Class, a.GroupID, a.Before, a.After = ids, f.Pipeline, f.Stage, f.Class, f.GroupID, f.Before, f.After
	return nil
}

// checkPlan refuses what the server would, so that a dry run finds it too. What is
// not given is up to the server.
func (a *replayRequest) checkPlan() error {
	if a.noRamp {
		a.Plan.Canary = -1
	}
	for _, f := range []struct {
		flag  string
		value float64
		max   float64
	}{
		{"rate", a.Plan.Rate, 10_000}, {"concurrency", float64(a.Plan.Concurrency), 100_000}, {"failure-limit", a.Plan.Limit, 1},
	} {
		if a.given(f.flag) && !(f.value > 0 && f.value <= f.max) {
			return usagef("--%s is %v: expected a number above 0, %v at most", f.flag, f.value, f.max)
		}
	}
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
	a.Token = p.Token
	out := s.Err
	if a.dryRun {
		out = s.Out
	}
	fmt.Fprintf(out, "%s can be replayed.\n", count(p.Eligible, "dead letter"))
	if p.More {
		fmt.Fprintln(out, "There are more than a preview looks at: replay these first, then the rest.")
	}
	for _, reason := range slices.Sorted(maps.Keys(p.NotEligible)) {
		fmt.Fprintf(out, "%d cannot: %s\n", p.NotEligible[reason], printable(words(strings.ToLower(reason))))
	}
	switch {
	case p.Eligible == 0:
		return errSilent
	case a.dryRun || a.yes:
		return nil
	}
	return s.confirm(fmt.Sprintf("Replay %s?", count(p.Eligible, "dead letter")), fmt.Sprint(p.Eligible))
}
