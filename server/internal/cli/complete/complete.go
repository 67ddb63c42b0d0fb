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

// Recent is how many ids are offered: more than a screen of them helps nobody.
const Recent = 20

// Add lets a command, and those that it holds, complete their flags and arguments. What
// [Own] has set stays.
func Add(cmd *cobra.Command, streams command.Streams) {
	add(cmd, func(cmd *cobra.Command, name string) cobra.CompletionFunc {
		if !offered(cmd, name) {
			return nil
		}
		return offer(streams, name)
	})
}

// Own lets a command, and those that it holds, complete flags and arguments with names that
// only they use. Packages with commands of their own call it.
func Own(cmd *cobra.Command, streams command.Streams, names map[string]Source) {
	add(cmd, func(_ *cobra.Command, name string) cobra.CompletionFunc {
		if names[name] == nil {
			return nil
		}
		return ask(streams, names[name], func() []string { return nil })
	})
}

// add sets what completes the flags and arguments of a command and of those that it holds,
// by their names, unless it is set.
func add(cmd *cobra.Command, of func(cmd *cobra.Command, name string) cobra.CompletionFunc) {
	for _, sub := range cmd.Commands() {
		add(sub, of)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(f)
		if offer := of(cmd, name); offer != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, offer) // it fails for a flag that has one, or that there is not
		}
	})
	use, _, _ := strings.Cut(cmd.Use, " --")
	names := arguments.FindAllString(use, -1)
	if len(names) == 0 || cmd.ValidArgsFunction != nil {
		return
	}
	offer := of(cmd, names[0])
	if offer == nil {
		return
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(names) && !strings.Contains(cmd.Use, "…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd, args, typed)
	}
}

// arguments are the names of arguments in a line of usage.
var arguments = regexp.MustCompile(`\b[A-Z]{2,}\b`)

// offered reports whether there is something to offer for a name.
func offered(cmd *cobra.Command, name string) bool {
	return words(cmd, name) != nil || known(cmd, name) != nil
}

// offer offers what a name stands for.
func offer(streams command.Streams, name string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if list := words(cmd, name); list != nil {
			return list, cobra.ShellCompDirectiveNoFileComp
		}
		return ask(streams, known(cmd, name), func() []string { return fallback(name) })(cmd, args, typed)
	}
}

// ask offers what a server knows. A server that does not answer, or refuses, is no reason to
// disturb whoever types.
func ask(streams command.Streams, known Source, fallback func() []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		s, err := command.Dial(cmd, streams)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.Close()
		list, err := known(ctx, s)
		if err != nil {
			list = fallback()
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// under reports whether a command is one of a group.
func under(cmd *cobra.Command, group string) bool {
	return strings.HasPrefix(cmd.CommandPath()+" ", "recoup "+group+" ")
}
