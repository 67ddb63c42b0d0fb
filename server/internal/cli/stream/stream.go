// Package stream holds the streams of a command: where it reads and writes, how it asks a
// person, shows times and progress, and reports its failure as an exit status. It imports
// neither the client nor the node, so that a package that offers commands can name
// [Streams] without them.
package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/recoup-dev/recoup/server/internal/config"
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

	Config config.Added // what parts of the program add to the configuration of the node

	UTC bool // times are shown as stamps, not as how far away they are

	Now   func() time.Time                           // nil: time.Now
	Sleep func(context.Context, time.Duration) error // between screens; nil: retry.Sleep
}

// ProgramName is the name of the program that runs.
func (s Streams) ProgramName() string { return cmp.Or(s.Program, "recoup") }

// Clock is the time that ages are relative to.
func (s Streams) Clock() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Colored reports whether colours are seen and wanted (no-color.org).
func (s Streams) Colored() bool {
	return s.Width > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// ErrSilent ends a command with status 1 when it has already printed the reason.
var ErrSilent = errors.New("refused")

// UsageError marks a mistake in how a command was called.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Printer is an error that takes more than one line to print, such as a refusal of a
// server.
type Printer interface {
	error
	Print(s Streams)
}

// Status prints why a command failed and returns its exit status.
func (s Streams) Status(err error) int {
	var usage UsageError
	var printer Printer
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrSilent):
		return ExitRefused
	case errors.As(err, &usage):
		fmt.Fprintf(s.Err, "%s: %s\n", s.ProgramName(), Visible(err.Error()))
		return ExitUsage
	case errors.As(err, &printer):
		printer.Print(s)
		return ExitRefused
	}
	fmt.Fprintf(s.Err, "%s: %s\n", s.ProgramName(), Visible(err.Error()))
	return ExitRefused
}
