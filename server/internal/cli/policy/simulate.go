package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/simulation"
)

// The bounds of a simulation: beyond them it would run for minutes.
const (
	maxSimulatedErrors = 10_000_000
	maxSimulatedDays   = 3_650
)

func simulateCommand(streams command.Streams) *cobra.Command {
	var file command.PolicyFlags
	var ask simulated
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate the policy over a synthetic year, or over past failures",
		Long: `Lets failures happen, workers retry and people act, all in virtual time, and counts what becomes
of them. The same seed gives the same failures, so that two policies can be compared.

A history is NDJSON: one object a line with ts, table, code and, if known, entity_id, severity and
retry_after (seconds). Without --days it runs until nothing is left to happen.`,
		Example: `  recoup policy simulate --errors 20000 --days 90
  recoup policy simulate --policy new.yaml --from failures.ndjson --json`,
		Args: command.NoArgs,
	}
	cmd.Flags().IntVar(&ask.errors, "errors", 10_000, "make up `N` failures")
	cmd.Flags().IntVar(&ask.days, "days", 365, "simulate `N` days")
	cmd.Flags().Uint64Var(&ask.seed, "seed", 1, "random seed; another `N` gives other failures")
	cmd.Flags().StringVar(&ask.from, "from", "", "history `FILE` to run instead of made-up failures (- is standard input)")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return ask.check(cmd) }
	return file.Offline(streams, cmd, command.One, func(ctx context.Context, s *command.Session, _ []string) error {
		o, err := ask.options(streams, file.Policy)
		if err != nil {
			return err
		}
		result, err := simulate(ctx, streams, o)
		switch {
		case errors.Is(err, context.Canceled):
			return errors.New("the simulation was interrupted")
		case err != nil:
			return err
		case s.Machine():
			return s.Print(result)
		}
		return printSimulation(s.Streams, result)
	})
}

// simulated is a simulation as the flags describe it.
type simulated struct {
	errors, days int
	seed         uint64
	from         string
	untilTheEnd  bool // of a history
}

func (a *simulated) check(cmd *cobra.Command) error {
	a.untilTheEnd = a.from != "" && !cmd.Flags().Changed("days")
	if a.from != "" && cmd.Flags().Changed("errors") {
		return command.Usagef("--errors makes failures up, --from reads them: expected one of the two")
	}
	return cmp.Or(command.Within("errors", a.errors, 1, maxSimulatedErrors), command.Within("days", a.days, 1, maxSimulatedDays))
}

func (a *simulated) options(streams command.Streams, p *policy.Policy) (simulation.Options, error) {
	o := simulation.Defaults(p, p.Registry())
	o.Seed, o.Length = a.seed, time.Duration(a.days)*24*time.Hour
	o.Mix.Errors, o.Mix.Entities = a.errors, max(1, a.errors/4)
	if a.from == "" {
		return o, nil
	}
	if a.untilTheEnd {
		o.Length = 0
	}
	var err error
	o.History, err = a.history(streams)
	return o, err
}

// history reads the failures of a file. Lines that cannot be used are printed so
// that editors can jump there.
func (a *simulated) history(streams command.Streams) ([]simulation.Failure, error) {
	in, name := streams.In, "standard input"
	if a.from != "-" {
		f, err := os.Open(a.from)
		if err != nil {
			return nil, fmt.Errorf("cannot read the history: %w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in, name = f, a.from
	}
	history, err := simulation.ReadHistory(in)
	var bad *simulation.HistoryError
	switch {
	case errors.As(err, &bad):
		for _, p := range bad.Problems {
			fmt.Fprintf(streams.Err, "%s:%d: %s\n", name, p.Line, p.Message)
		}
		return nil, command.ErrSilent
	case err != nil:
		return nil, err
	case len(history) == 0:
		return nil, fmt.Errorf("%s has no failures", name)
	}
	return history, nil
}

// simulate runs until the end or until the user interrupts it.
func simulate(ctx context.Context, streams command.Streams, o simulation.Options) (simulation.Result, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	advance, end := streams.ShowProgress("simulating")
	defer end()
	o.Progress = advance
	return simulation.Run(ctx, o)
}

// printSimulation prints the counts as tables, with a line for all of them.
func printSimulation(s command.Streams, r simulation.Result) error {
	b := command.Page{Width: s.Width}
	b.Heading("SIMULATION OF POLICY " + r.PolicyVersion)
	b.Text(fmt.Sprintf("%s from %s to %s, seed %d.", command.Count(r.Total.Reported, "failure"),
		r.Start.Format(time.DateOnly), r.End.Format(time.DateOnly), r.Seed))
	if r.Beyond > 0 {
		b.Text(fmt.Sprintf("%s of the history after the end and left out.", command.Count(r.Beyond, "failure")))
	}
	for _, part := range simulationParts {
		b.Heading(part.heading)
		b.Figures(part.rows(r)...)
		if part.note != "" {
			b.Text(part.note)
		}
	}
	b.Heading("RESULT")
	b.Text(conclusion(r))
	_, err := io.WriteString(s.Out, b.String())
	return err
}

// conclusion says in one sentence how it went.
func conclusion(r simulation.Result) string {
	t := r.Total
	return strings.Join([]string{
		fmt.Sprintf("Of %s, workers resolved %d and people %d.", command.Count(t.Reported, "error"), t.ResolvedByWorker, t.ResolvedByPerson),
		fmt.Sprintf("Entities blocked: %d, each time for %s on average; expiry alone ended %s.",
			t.Blocked.Entities, seconds(t.Blocked.MeanSeconds), command.Count(t.UnblockedByTTL, "block")),
		fmt.Sprintf("Still open: %d.", total(t.Open)),
	}, " ")
}
