// Package benchcli is the command line of recoup-bench: a mixed load at a fixed rate against a
// server that is named on purpose, its result, and the comparison of two runs. Package load makes
// and measures the load. This package defines the operations, the servers that are allowed, and
// the cleanup.
package benchcli

import (
	"cmp"
	"context"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/test/load"
)

// The bounds of a run, so that a slip of the finger is one.
const (
	maxRate     = 50_000
	maxDuration = time.Hour
	maxClients  = 1_000
	maxBatch    = 1_000
)

// defaultMix is that of pipelines which fail now and then, and ask before they go on.
const defaultMix = "report=40,gate=30,events=15,claim=5,ack=5,dead-letter=5"

// Run executes the command line until ctx ends and returns its exit status.
func Run(ctx context.Context, args []string, streams command.Streams) int {
	streams.Program = "recoup-bench"
	root := Root(streams)
	root.SetArgs(append([]string{}, args...)) // of nil cobra would make the process's own
	return streams.Status(root.ExecuteContext(ctx))
}

// Root runs a benchmark, and holds the other commands.
func Root(streams command.Streams) *cobra.Command {
	var b benchmark
	cmd := &cobra.Command{
		Use:   "recoup-bench",
		Short: "Measure a server under a mixed load",
		Long: `Sends reports, gate checks, events, claims, results and dead letters to a server at a fixed rate,
and prints how long they took. The server must be named with --server, and run on this machine
unless --allow-host permits another. Use a server that is there to be tested: what a benchmark
writes can fire alert rules and notify people. The default mix is
` + defaultMix + `.

Operations are scheduled at the rate however slow the server is (open loop), and a latency counts
from the scheduled time, so that a stall is not hidden (coordinated omission). An operation that
finds all clients busy waits for one, and the wait counts. Answers with 429 are counted apart and
have no latency. The result says if this machine was too busy to keep the schedule, or if the
benchmark itself used nearly all of its CPU.

Everything is marked: entities begin with bench- and the run's tag, reports and events have the
service bench, dead letters the pipeline bench. At the end errors are resolved and dead letters
archived, unless --keep is given; events stay until the ledger's retention ends.

Claims take whatever is due in --table, so it must have no other open errors. The key needs the
role admin; operator is enough without claim and ack, worker with --keep.

Ctrl-C ends the run and prints the figures so far. The exit status is 1 if an operation failed
or something could not be cleaned up.`,
		Example: `  recoup-bench --server http://127.0.0.1:8080 --table app.errors
  recoup-bench --server http://127.0.0.1:8080 --mix gate=1 --out a.json
  recoup-bench compare a.json b.json`,
		Annotations: map[string]string{command.OwnUse: "recoup-bench --server URL [flags]"},
		Args:        command.NoArgs,
	}
	b.add(cmd)
	b.Flags(cmd, command.One)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b.Streams = streams
		return b.main(cmd.Context(), cmd, args)
	}
	cmd.AddCommand(compareCommand(streams), cleanCommand(streams))
	cli.Configure(cmd, streams, "  recoup-bench help compare")
	return cmd
}

// benchmark is one run, and how it is to be done.
type benchmark struct {
	command.Session
	target   target
	table    string
	rate     int
	duration string
	mixText  string
	clients  int
	batch    int
	seed     uint64
	timeout  string
	again    bool
	keep     bool
	out      string

	mix   load.Mix
	spans struct{ duration, timeout time.Duration }
}

func (b *benchmark) add(cmd *cobra.Command) {
	b.target.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&b.table, "table", "", "error `TABLE` that is reported to and claimed from; required with report, claim or ack")
	flags.IntVar(&b.rate, "rate", 100, "`N` operations per second, in all")
	flags.StringVar(&b.duration, "duration", "30s", "how long, as `DURATION` up to 1h")
	flags.StringVar(&b.mixText, "mix", "", "weights of the operations, as `MIX` such as report=50,gate=50 (default: see above)")
	flags.IntVar(&b.clients, "clients", 16, "at most `N` operations at once, each on a connection of its own")
	flags.IntVar(&b.batch, "batch", 10, "`N` events per request, and at most N errors per claim")
	flags.Uint64Var(&b.seed, "seed", 1, "random seed; another `N` gives another order of operations")
	flags.StringVar(&b.timeout, "timeout", "10s", "an operation that takes longer than this `DURATION` fails")
	flags.BoolVar(&b.again, "retry-after", false, "after a 429, wait as the server asks and send it again; the wait counts as latency")
	flags.BoolVar(&b.keep, "keep", false, "leave the errors and dead letters; 'recoup-bench clean' removes them")
	flags.StringVar(&b.out, "out", "", "write the result to this `FILE` as well, as JSON for 'recoup-bench compare'")
}

// check reads the flags.
func (b *benchmark) check() error {
	if err := b.target.check(); err != nil {
		return err
	}
	for _, n := range []struct {
		flag        string
		given, most int
	}{{"rate", b.rate, maxRate}, {"clients", b.clients, maxClients}, {"batch", b.batch, maxBatch}} {
		if err := command.Within(n.flag, n.given, 1, n.most); err != nil {
			return err
		}
	}
	var err error
	if b.spans.duration, err = span("duration", b.duration, maxDuration); err != nil {
		return err
	}
	if b.spans.timeout, err = span("timeout", b.timeout, maxDuration); err != nil {
		return err
	}
	if b.mix, err = load.ParseMix(cmp.Or(b.mixText, defaultMix), operationNames()); err != nil {
		return command.Usagef("--mix: %w", err)
	}
	switch {
	case b.table == "" && (b.mix.Has(opReport) || b.mix.Has(opClaim) || b.mix.Has(opAck)):
		return command.Usagef("--table is missing: expected an error table of the server's policy, such as app.errors")
	case b.mix.Has(opAck) && !b.mix.Has(opClaim):
		return command.Usagef("--mix has ack without claim, so there would be nothing to acknowledge: add claim=WEIGHT")
	}
	return nil
}

// span reads a duration of a flag.
func span(flag, text string, most time.Duration) (time.Duration, error) {
	d, err := policy.ParseDuration(text)
	if err != nil || d <= 0 || d > most {
		return 0, command.Usagef("--%s is %q: expected a duration up to %s, such as 30s or 5m", flag, text, policy.FormatDuration(most))
	}
	return d, nil
}

// main runs the benchmark.
func (b *benchmark) main(ctx context.Context, cmd *cobra.Command, args []string) error {
	if err := b.check(); err != nil {
		return err
	}
	c, err := b.target.connect(b.Now, b.clients, b.spans.timeout)
	if err != nil {
		return err
	}
	defer c.Close()
	b.Client = c
	interrupted, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return b.target.Explain(cmd, args, b.run(interrupted, stop))
}
