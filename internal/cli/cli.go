// Package cli is the command line: one file per command. A command reads its
// flags, calls the package that does the work and prints what came back:
// results on standard output, messages for people on standard error. It holds
// no decisions of its own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// The exit statuses that scripts may rely on.
const (
	ExitDone    = 0
	ExitRefused = 1
	ExitUsage   = 2
)

// Streams are where a command reads and writes, and what it knows of the person
// there. The zero value of all but the first three is that of a script.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	Terminal    bool // Err is a terminal, so that progress may be drawn there
	Interactive bool // In is a terminal, so that a question may be answered
	Width       int  // columns of the terminal that Out is; 0: it is none

	Now func() time.Time // nil: time.Now
}

// now is the time by which ages are told.
func (s Streams) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// errSilent ends a command with status 1 when it has already said why.
var errSilent = errors.New("refused")

// usageError marks a mistake in how a command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// Run executes the command line and returns its exit status.
func Run(args []string, streams Streams) int {
	return execute(context.Background(), args, streams)
}

// execute is Run until ctx ends.
func execute(ctx context.Context, args []string, streams Streams) int {
	root := newRoot(streams)
	root.SetArgs(append([]string{}, args...)) // of nil cobra would make the process's own
	err := root.ExecuteContext(ctx)
	var usage usageError
	var refused *serverError
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, errSilent):
		return ExitRefused
	case errors.As(err, &usage):
		fmt.Fprintf(streams.Err, "recoup: %v\n", err)
		return ExitUsage
	case errors.As(err, &refused):
		refused.print(streams)
		return ExitRefused
	}
	fmt.Fprintf(streams.Err, "recoup: %v\n", err)
	return ExitRefused
}

func newRoot(streams Streams) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "recoup",
		Short: "Record, retry, park, escalate and recover failed work",
		Long: `Recoup looks after work that failed. A failure is reported with a code to an error
table, and a policy decides what becomes of it: it is retried, parked for a person,
escalated if nobody acts, and expired in the end.

Begin with the first example. Only the last two need a server, such as the one with sample
data that 'recoup demo' runs in another terminal. None of them changes anything.`,
		Example: `  recoup codes list                        # what can go wrong
  recoup policy show                       # what the policy does about it
  recoup policy explain --table outreach.dol_errors --code NETWORK_TIMEOUT  # one failure's life
  recoup policy check                      # proof that no failure is lost
  recoup policy simulate                   # a made-up year of failures
  recoup demo                              # a server to look around in
  recoup errors list --parked              # what waits for a person there
  recoup gate CO-20260205-000001           # whether something may go on, and if not, why`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
	}
	root.Flags().BoolVar(&version, "version", false, "print the version, as 'recoup version' does")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if version {
			return printVersion(streams, false)
		}
		return group(cmd, args)
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w\nRun '%s --help' for what it takes", err, cmd.CommandPath())
	})
	help := helpCommand()
	root.SetHelpCommand(help)
	root.AddCommand(
		serveCommand(streams), demoCommand(streams), configCommand(streams), migrateCommand(streams), keysCommand(streams),
		errorsCommand(streams), reportCommand(streams), gateCommand(streams), promoteCommand(streams), gateZeroCommand(streams),
		eventsCommand(streams), topCommand(streams), exportCommand(streams),
		codesCommand(streams), policyCommand(streams), alertsCommand(streams), providersCommand(streams), deadLettersCommand(streams), replaysCommand(streams), workCommand(streams), jobsCommand(streams), noticesCommand(streams), channelsCommand(streams), receiversCommand(streams), versionCommand(streams), help,
	)
	addCompletion(root)
	return root
}

// group is the action of a command that only holds others: it prints its help.
func group(cmd *cobra.Command, _ []string) error { return cmd.Help() }
