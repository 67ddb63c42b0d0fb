// Package policy is 'recoup policy'.
package policy

import (
	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{Init(streams), command.Group(&cobra.Command{
		Use:   "policy",
		Short: "Show, check, simulate and apply the policy",
		Long: `The policy is a YAML file that says for each error table how failures are retried, parked,
escalated and expired. The commands read a file, or with --server the policy in force there; only
apply changes it.`,
		Example: `  recoup policy show
  recoup policy explain --policy policy.yaml --table app.errors --code CONFLICT`,
	}, show(streams), explain(streams), check(streams), simulateCommand(streams), plan(streams), apply(streams), schema(streams))}
}

func schema(streams command.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of policy files, for editors",
		Long: `Prints the JSON schema of policy files. An editor that knows it completes keys and
marks mistakes while you type.`,
		Example: `  recoup policy schema > policy.schema.json`,
		Args:    command.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := streams.Out.Write(policy.Schema())
			return err
		},
	}
}
