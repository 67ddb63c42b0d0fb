// Package cli is the command line. Each group of commands has a package of its own
// below it, on the shared package command: a command reads its flags, calls the
// package that does the work and prints what came back, results on standard output
// and messages for people on standard error. It decides nothing.
package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/alerts"
	"github.com/recoup-dev/recoup/server/internal/cli/codes"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/complete"
	"github.com/recoup-dev/recoup/server/internal/cli/deadletters"
	"github.com/recoup-dev/recoup/server/internal/cli/errorcmd"
	"github.com/recoup-dev/recoup/server/internal/cli/events"
	"github.com/recoup-dev/recoup/server/internal/cli/keys"
	"github.com/recoup-dev/recoup/server/internal/cli/notifications"
	"github.com/recoup-dev/recoup/server/internal/cli/policy"
	"github.com/recoup-dev/recoup/server/internal/cli/server"
	"github.com/recoup-dev/recoup/server/internal/cli/status"
	features "github.com/recoup-dev/recoup/server/internal/slices"
)

// Streams are where a command reads and writes.
type Streams = command.Streams

// Run executes the command line until ctx ends and returns its exit status.
func Run(ctx context.Context, args []string, streams Streams) int {
	root := Root(streams)
	root.SetArgs(append([]string{}, args...)) // of nil cobra would make the process's own
	return streams.Status(root.ExecuteContext(ctx))
}

// Root is the command that holds all others.
func Root(streams Streams) *cobra.Command {
	added := features.All()
	streams.Config = features.Config(added)
	var version bool
	root := &cobra.Command{
		Use:   "recoup",
		Short: "Record, retry, park, escalate and recover failed work",
		Long: `Recoup manages failed work. A failure is reported with a code to an error table, and a policy
decides what becomes of it: it is retried, parked for a person, escalated if nobody acts, and
expired in the end.

Begin with the first example. Only the last two need a server, such as the one with sample data
that 'recoup demo' runs in another terminal. None of them changes anything.`,
		Example: `  recoup codes list                # what can go wrong
  recoup policy show               # what the policy does about it
  recoup policy explain --table pipeline.dead_letters --code NETWORK_TIMEOUT
  recoup policy check              # proof that no failure is lost
  recoup policy simulate           # a synthetic year of failures
  recoup demo                      # a server to look around in
  recoup errors list --parked      # what waits for a person there
  recoup promotion check order-1   # whether an entity may be promoted`,
		Args: command.NoArgs,
	}
	root.Flags().BoolVar(&version, "version", false, "print the version, as 'recoup version' does")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if version {
			_, err := fmt.Fprintln(streams.Out, app.OwnVersion())
			return err
		}
		return command.Help(cmd, args)
	}
	root.AddCommand(slices.Concat(
		alerts.Commands(streams), codes.Commands(streams), deadletters.Commands(streams), errorcmd.Commands(streams),
		events.Commands(streams, features.Events(added)), status.Commands(streams), keys.Commands(streams), notifications.Commands(streams),
		policy.Commands(streams), server.Commands(streams),
	)...)
	for _, cmd := range features.Commands(added, streams) {
		command.Merge(root, cmd)
	}
	Configure(root, streams, `  recoup help policy
  recoup help codes show`)
	return root
}

// Configure makes a command that holds others the root of a program. It adds the commands help,
// with the given examples, and completion.
func Configure(root *cobra.Command, streams Streams, helpExample string) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return command.Usagef("%w\nRun '%s --help' for usage", err, cmd.CommandPath())
	})
	help := helpCommand(helpExample)
	root.SetHelpCommand(help)
	root.AddCommand(help)
	complete.Add(root, streams)
	addCompletion(root)
	wrapHelp(root)
}
