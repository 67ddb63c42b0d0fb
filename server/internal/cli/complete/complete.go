// Package complete is what a shell offers where somebody presses Tab behind a command:
// words that are fixed, and names and recent ids that the command's server knows. What
// is offered follows from how a flag or an argument is called in the command's help, so
// that a new command has it without saying so.
package complete

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// patience is how long a shell waits for a server.
const patience = 2 * time.Second

// recent is how many ids are offered: more than a screen of them helps nobody.
const recent = 20

// Add lets a command, and those that it holds, complete their flags and arguments.
func Add(cmd *cobra.Command, streams command.Streams) {
	for _, sub := range cmd.Commands() {
		Add(sub, streams)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if name, _ := pflag.UnquoteUsage(f); offered(cmd, name) {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, offer(streams, name)) // it fails for a flag that there is not
		}
	})
	use, _, _ := strings.Cut(cmd.Use, " --")
	names := arguments.FindAllString(use, -1)
	if len(names) > 0 && offered(cmd, names[0]) {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) >= len(names) && !strings.Contains(cmd.Use, "…") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return offer(streams, names[0])(cmd, args, typed)
		}
	}
}

// arguments are the names of arguments in a line of usage.
var arguments = regexp.MustCompile(`\b[A-Z]{2,}\b`)

// offered reports whether there is something to offer for a name.
func offered(cmd *cobra.Command, name string) bool {
	return words(cmd, name) != nil || known(cmd, name) != nil
}

// offer offers what a name stands for. A server that does not answer, or refuses, is
// no reason to disturb whoever types.
func offer(streams command.Streams, name string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		if list := words(cmd, name); list != nil {
			return list, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		s, err := command.Dial(cmd, streams)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.Close()
		list, err := known(cmd, name)(ctx, s)
		if err != nil {
			list = fallback(name)
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// under reports whether a command is one of a group.
func under(cmd *cobra.Command, group string) bool {
	return strings.HasPrefix(cmd.CommandPath()+" ", "recoup "+group+" ")
}
