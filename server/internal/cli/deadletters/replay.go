package deadletters

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// replayRequest is a replay as its flags describe it.
type replayRequest struct {
	recoup.NewReplay
	filter                     filter
	noRamp, dryRun, yes, watch bool
	given                      func(flag string) bool
}

func replay(streams command.Streams) *cobra.Command {
	ask := &replayRequest{}
	cmd := &cobra.Command{
		Use:   "replay [ID…]",
		Short: "Replay: send dead letters back to the failed stage (step 4 of 5)",
		Long: `Sends dead letters back to work, given by their ids or by a filter, 10000 at most. It previews
which can be replayed and which cannot, and asks for a confirmation on a terminal. What is
replayed is what was shown: dead letters that become ready meanwhile, or that change, are not
included.

A replay ramps up: it begins with one item, goes on with a tenth and then with the rest, each
once the results of the last are in. It stops by itself when too many fail, or when the same
failure comes back.`,
		Example: `  recoup dead-letters replay ` + command.AnID + ` --reason corrected
  recoup dead-letters replay --pipeline newsletter --reason corrected --watch`,
	}
	ask.filter.add(cmd)
	flags := cmd.Flags()
	ask.given = flags.Changed
	flags.BoolVar(&ask.All, "all", false, "every dead letter, if no filter is given")
	flags.StringVar(&ask.FromStart, "from-start", "", "run the whole pipeline again, from its first `STAGE` on")
	flags.Float64Var(&ask.Plan.Rate, "rate", 0, "`N` items per second (default 10)")
	flags.IntVar(&ask.Plan.Concurrency, "concurrency", 0, "at most `N` items at a time (default 100)")
	flags.Float64Var(&ask.Plan.Limit, "failure-limit", 0, "stop when more than this `SHARE` of items fails (default 0.1)")
	flags.BoolVar(&ask.noRamp, "no-ramp", false, "begin at the full rate")
	command.ReasonFlag(cmd, &ask.Reason, true)
	flags.BoolVar(&ask.dryRun, "dry-run", false, "preview what would be replayed, and change nothing")
	flags.BoolVar(&ask.watch, "watch", false, "stay and show the progress")
	command.YesFlag(cmd, &ask.yes)
	return command.OnServer(streams, cmd, command.One, ask.run)
}

func (a *replayRequest) run(ctx context.Context, s *command.Session, args []string) error {
	if err := a.read(s, args); err != nil {
		return err
	}
	if a.FromStart != "" && !s.Machine() { // what nobody can check: which stages a pipeline has, its workers know
		s.Notef("They start again at stage %s, and wait there for a worker that claims it. An unknown stage is not noticed.", command.Printable(a.FromStart))
	}
	if len(a.IDs) != 1 || a.dryRun {
		if err := s.Askable(a.yes || a.dryRun); err != nil {
			return err
		}
		if err := a.preview(ctx, s); err != nil || a.dryRun {
			return err
		}
	}
	r, err := s.Replays.Start(ctx, a.asked())
	switch {
	case err != nil:
		return err
	case a.watch:
		return watchReplay(ctx, s, r.ID, watchEvery)
	case s.Machine():
		return s.Print(r)
	}
	s.Sayf("%s %s", r.ID, replayLine(&r))
	s.Notef("'recoup replays watch %s' shows its progress.", r.ID)
	return nil
}

// asked is the replay to begin: of what the preview has shown, where there was one.
func (a *replayRequest) asked() recoup.NewReplay {
	r := a.NewReplay
	if r.Token != "" {
		r.ReplaySelection = recoup.ReplaySelection{FromStart: r.FromStart}
	}
	return r
}

// read checks the flags: ids or a filter, and a reason.
func (a *replayRequest) read(s *command.Session, args []string) error {
	ids, err := s.IDs(recoup.DeadLetterIDs, args...)
	if err != nil {
		return err
	}
	f, err := a.filter.read(s)
	if err != nil {
		return err
	}
	empty := f == recoup.DeadLetterFilter{}
	switch {
	case len(ids) > 0 && (!empty || a.All):
		return command.Usagef("ids and a filter are given: expected one of the two")
	case len(ids) == 0 && empty && !a.All:
		return command.Usagef("neither an id nor a filter is given: --all means every dead letter")
	case !a.dryRun:
		if err := command.NeedReason(a.Reason); err != nil {
			return err
		}
	}
	a.IDs, a.Pipeline, a.Stage, a.Class, a.GroupID, a.Before, a.After = ids, f.Pipeline, f.Stage, f.Class, f.GroupID, f.Before, f.After
	return a.checkPlan()
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
			return command.Usagef("--%s is %v: expected a number above 0, %v at most", f.flag, f.value, f.max)
		}
	}
	return nil
}

// preview says what can be replayed and what not, and asks for a confirmation.
func (a *replayRequest) preview(ctx context.Context, s *command.Session) error {
	p, err := s.Replays.Preview(ctx, a.ReplaySelection)
	if err != nil {
		return err
	}
	if a.dryRun && s.Machine() {
		return s.Print(p)
	}
	a.Token = p.Token
	out := s.Err
	if a.dryRun {
		out = s.Out
	}
	fmt.Fprintf(out, "%s can be replayed.\n", command.Count(p.Eligible, "dead letter"))
	if p.More {
		fmt.Fprintln(out, "There are more than a preview covers: replay these first, then the rest.")
	}
	for _, reason := range slices.Sorted(maps.Keys(p.NotEligible)) {
		fmt.Fprintf(out, "%d cannot: %s\n", p.NotEligible[reason], command.Printable(command.Words(strings.ToLower(reason))))
	}
	switch {
	case p.Eligible == 0:
		return command.ErrSilent
	case a.dryRun || a.yes:
		return nil
	}
	return s.Confirm(fmt.Sprintf("Replay %s?", command.Count(p.Eligible, "dead letter")), fmt.Sprint(p.Eligible))
}
