// Package command is what the commands share: the streams they write to, their
// flags and arguments, the way to a server, and the three shapes that most of them
// have: [List], [Show] and [Act]. It knows no command, and decides nothing.
package command

import (
	"cmp"
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
// there. The zero value of all but In, Out and Err is that of a script.
type Streams struct {
	Program string // that messages name; empty: recoup

	In  io.Reader
	Out io.Writer
	Err io.Writer

	Terminal    bool // Err is a terminal, so that progress may be drawn there
	Interactive bool // In is a terminal, so that a question may be answered
	Width       int  // columns of the terminal that Out is; 0: it is none

	UTC bool // times are shown as stamps, not as how far away they are

	Now   func() time.Time                           // nil: time.Now
	Sleep func(context.Context, time.Duration) error // between screens; nil: retry.Sleep
}

// program is the name of the program that runs.
func (s Streams) program() string { return cmp.Or(s.Program, "recoup") }

// Clock is the time that ages are relative to.
func (s Streams) Clock() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// ErrSilent ends a command with status 1 when it has already said why.
var ErrSilent = errors.New("refused")

// UsageError marks a mistake in how a command was called.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Status says why a command failed and returns its exit status.
func (s Streams) Status(err error) int {
	var usage UsageError
	var refused *serverError
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrSilent):
		return ExitRefused
	case errors.As(err, &usage):
		fmt.Fprintf(s.Err, "%s: %s\n", s.program(), visible(err.Error()))
		return ExitUsage
	case errors.As(err, &refused):
		refused.print(s)
		return ExitRefused
	}
	fmt.Fprintf(s.Err, "%s: %s\n", s.program(), visible(err.Error()))
	return ExitRefused
}

// Group makes cmd one that only holds others: called alone it prints its help.
func Group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = NoArgs, Help
	cmd.AddCommand(subs...)
	return cmd
}

// Help is the action of a command that prints its help.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// OwnUse is the annotation of a command that holds others and does something
// itself: how that is called.
const OwnUse = "use"
