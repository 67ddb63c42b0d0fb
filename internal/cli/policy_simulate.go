package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"recoup/fault"
	"recoup/internal/policy"
	"recoup/internal/simulation"
)

// The bounds of a simulation: beyond them it would run for minutes.
const (
	maxSimulatedErrors = 10_000_000
	maxSimulatedDays   = 3_650
)

func policySimulate(streams Streams) *cobra.Command {
	var file policyFlag
	var ask simulated
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Run the policy over a made-up year, or over a history of failures",
		Long: `Lets failures happen, workers retry and people act, all in virtual time, and counts
what becomes of them. The same seed gives the same failures, so that two policies
can be compared.

A history is NDJSON: one object a line with ts, table, code and, if known,
entity_id, severity and retry_after (seconds). Without --days it runs until
nothing is left to happen.

--json is short for --format json.`,
		Example: `  recoup policy simulate --errors 20000 --days 90
  recoup policy simulate --policy new.yaml --from failures.ndjson --json`,
		Args: noArgs,
	}
	file.add(cmd)
	cmd.Flags().IntVar(&ask.errors, "errors", 10_000, "make up `N` failures")
	cmd.Flags().IntVar(&ask.days, "days", 365, "simulate `N` days")
	cmd.Flags().Uint64Var(&ask.seed, "seed", 1, "start of the random numbers; another `N` gives other failures")
	cmd.Flags().StringVar(&ask.from, "from", "", "history `FILE` to run instead of making failures up (- is standard input)")
	cmd.Flags().StringVar(&ask.format, "format", "table", "output `FORMAT`: "+join(simulationFormats()))
	jsonFlag(cmd, &ask.json)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := ask.check(cmd); err != nil {
			return err
		}
		p, _, err := file.load(streams)
		if err != nil {
			return err
		}
		o, err := ask.options(streams, p)
		if err != nil {
			return err
		}
		result, err := simulate(cmd.Context(), streams, o)
		switch {
		case errors.Is(err, context.Canceled):
			return errors.New("the simulation was stopped before its end")
		case err != nil:
			return err
		case ask.json:
			return printJSON(streams.Out, result)
		}
		return printSimulation(streams.Out, result)
	}
	return cmd
}

// simulated is a simulation as the flags describe it.
type simulated struct {
	errors, days int
	seed         uint64
	from, format string
	json         bool
	untilTheEnd  bool // of a history
}

func simulationFormats() []string { return []string{"table", "json"} }

func (a *simulated) check(cmd *cobra.Command) error {
	switch {
	case a.errors < 1 || a.errors > maxSimulatedErrors:
		return usagef("--errors is %d: expected a number from 1 to %d", a.errors, maxSimulatedErrors)
	case a.days < 1 || a.days > maxSimulatedDays:
		return usagef("--days is %d: expected a number from 1 to %d", a.days, maxSimulatedDays)
	case a.from != "" && cmd.Flags().Changed("errors"):
		return usagef("--errors makes failures up, --from reads them: expected one of the two")
	}
	format, err := oneOf("format", a.format, simulationFormats())
	switch {
	case err != nil:
		return err
	case a.json && format != "json" && cmd.Flags().Changed("format"):
		return usagef("--json asks for JSON, --format for %s: expected one of the two", format)
	}
	a.json = a.json || format == "json"
	a.untilTheEnd = a.from != "" && !cmd.Flags().Changed("days")
	return nil
}

func (a *simulated) options(streams Streams, p *policy.Policy) (simulation.Options, error) {
	o := simulation.Defaults(p, fault.Default())
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
func (a *simulated) history(streams Streams) ([]simulation.Failure, error) {
	in, name := streams.In, "standard input"
	if a.from != "-" {
		f, err := os.Open(a.from)
		if err != nil {
			return nil, fmt.Errorf("the history cannot be read: %w", err)
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
		return nil, errSilent
	case err != nil:
		return nil, err
	case len(history) == 0:
		return nil, fmt.Errorf("%s holds no failures", name)
	}
	return history, nil
}

// simulate runs until the end or until the user interrupts it.
func simulate(ctx context.Context, streams Streams, o simulation.Options) (simulation.Result, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	advance, end := streams.progress("simulating")
	defer end()
	o.Progress = advance
	return simulation.Run(ctx, o)
}

// printSimulation prints the counts as tables, with a line for all of them.
func printSimulation(w io.Writer, r simulation.Result) error {
	var b page
	b.heading("SIMULATION OF POLICY " + r.PolicyVersion)
	b.text(fmt.Sprintf("%s from %s to %s, seed %d.", count(r.Total.Reported, "failure"),
		r.Start.Format(time.DateOnly), r.End.Format(time.DateOnly), r.Seed))
	if r.Beyond > 0 {
		b.text(fmt.Sprintf("%s of the history after the end and left out.", count(r.Beyond, "failure")))
	}
	for _, part := range simulationParts {
		b.heading(part.heading)
		b.figures(part.rows(r)...)
		if part.note != "" {
			b.text(part.note)
		}
	}
	b.heading("RESULT")
	b.text(conclusion(r))
	_, err := io.WriteString(w, b.String())
	return err
}

// figures prints rows whose first cell is a name and whose others are numbers,
// which are aligned on the right.
func (p *page) figures(rows ...[]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(p, "  %-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(p, "  %*s", widths[i+1], cell)
		}
		p.WriteByte('\n')
	}
}

// conclusion says in one sentence how it went.
func conclusion(r simulation.Result) string {
	t := r.Total
	return strings.Join([]string{
		fmt.Sprintf("Of %s, workers resolved %d and people %d.", count(t.Reported, "error"), t.ResolvedByWorker, t.ResolvedByPerson),
		fmt.Sprintf("Entities blocked: %d, each time for %s on average; expiry alone ended %s.",
			t.Blocked.Entities, seconds(t.Blocked.MeanSeconds), count(t.UnblockedByTTL, "block")),
		fmt.Sprintf("Still open: %d.", total(t.Open)),
	}, " ")
}
