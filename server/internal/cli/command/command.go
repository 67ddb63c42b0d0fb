// Package command holds what the commands share: their flags and arguments, the
// connection to a server, and the three shapes that most of them have: [List], [Show]
// and [Act]. It contains no command, and decides nothing.
package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

// Streams are [stream.Streams], so that a package of commands imports one kit.
type Streams = stream.Streams

// UsageError is [stream.UsageError].
type UsageError = stream.UsageError

// The exit statuses that scripts may rely on.
const (
	ExitDone    = stream.ExitDone
	ExitRefused = stream.ExitRefused
	ExitUsage   = stream.ExitUsage
)

// ErrSilent ends a command with status 1 when it has already printed the reason.
var ErrSilent = stream.ErrSilent

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error { return stream.Usagef(format, args...) }

// Group makes cmd one that only holds others: called alone it prints its help.
func Group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = NoArgs, Help
	cmd.AddCommand(subs...)
	return cmd
}

// Merge adds a command to another. If that holds one of the same name, as a slice's group export, what
// is in the group is added to that one, with its examples, which are in the order of the commands.
func Merge(to, cmd *cobra.Command) {
	i := slices.IndexFunc(to.Commands(), func(c *cobra.Command) bool { return c.Name() == cmd.Name() })
	if i < 0 {
		to.AddCommand(cmd)
		return
	}
	group := to.Commands()[i]
	for _, sub := range cmd.Commands() {
		cmd.RemoveCommand(sub)
		Merge(group, sub)
	}
	examples := strings.Split(group.Example+"\n"+cmd.Example, "\n")
	slices.Sort(examples)
	group.Example = strings.Join(examples, "\n")
}

// Help is the action of a command that prints its help.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// OwnUse is the annotation of a command that holds others and does something
// itself: how that is called.
const OwnUse = "use"
