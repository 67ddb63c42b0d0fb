// Package cli is the command line: one file per command. A command reads its
// flags, calls the package that does the work and prints what came back:
// results on standard output, messages for people on standard error. It holds
// no decisions of its own.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit statuses that scripts may rely on.
const (
	ExitDone    = 0
	ExitRefused = 1
	ExitUsage   = 2
)

// Streams are where a command reads and writes. Terminal is true when Err is a
// terminal, so that progress may be drawn there.
type Streams struct {
	In       io.Reader
	Out      io.Writer
	Err      io.Writer
	Terminal bool
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
	root := newRoot(streams)
	root.SetArgs(args)
	err := root.Execute()
	var usage usageError
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, errSilent):
		return ExitRefused
	case errors.As(err, &usage):
		fmt.Fprintf(streams.Err, "recoup: %v\n", err)
		return ExitUsage
	}
	fmt.Fprintf(streams.Err, "recoup: %v\n", err)
	return ExitRefused
}

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "recoup",
		Short:         "Record, retry, park, escalate and recover failed work",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          group,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w\nRun '%s --help' for what it takes", err, cmd.CommandPath())
	})
	root.AddCommand(codesCommand(streams))
	root.AddCommand(policyCommand(streams))
	return root
}

// group is the action of a command that only holds others: it prints its help.
func group(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noArgs refuses arguments, naming the unknown word as a subcommand would be.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("unknown command %q for %q\nRun '%s --help' for the list", args[0], cmd.CommandPath(), cmd.CommandPath())
}

// exactArgs wants the named arguments, no more and no fewer.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s is missing\nRun '%s --help' for what it takes", names[len(args)], cmd.CommandPath())
		case len(args) > len(names):
			return usagef("unexpected argument %q\nRun '%s --help' for what it takes", args[len(names)], cmd.CommandPath())
		}
		return nil
	}
}
