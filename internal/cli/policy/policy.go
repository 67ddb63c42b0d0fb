// Package policy is 'recoup policy', and how other commands choose a policy file.
package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"recoup/fault"
	"recoup/internal/cli/command"
	"recoup/internal/policy"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{command.Group(&cobra.Command{
		Use:   "policy",
		Short: "Show, check, simulate and apply the policy",
		Long: `The policy is a YAML file that says for each error table how failures are retried, parked,
escalated and expired. Plan and apply talk to a server, and apply changes its policy. The other
commands read a file and change nothing.`,
		Example: `  recoup policy show
  recoup policy explain --table outreach.dol_errors --code NETWORK_TIMEOUT`,
	}, show(streams), explain(streams), check(streams), simulateCommand(streams), plan(streams), apply(streams), schema(streams))}
}

// Flag is how a policy file is chosen: by the flag --policy, by an argument where a
// command takes one, or by the variable that stands in for both.
type Flag struct{ file, Argument string }

// Add adds the flag.
func (f *Flag) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "policy", "", "policy `FILE` ($RECOUP_POLICY; default: the built-in policy)")
}

// Offline makes cmd a command that reads a policy and prints what follows from it,
// without a server.
func (f *Flag) Offline(streams command.Streams, cmd *cobra.Command, forms command.Forms, run func(s *command.Session, p *policy.Policy, name string) error) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = command.NoArgs
	}
	f.Add(cmd)
	return command.Offline(streams, cmd, forms, func(_ context.Context, s *command.Session, _ []string) error {
		p, name, err := f.Load(streams)
		if err != nil {
			return err
		}
		return run(s, p, name)
	})
}

// chosen returns the policy file and what named it, or nothing for the built-in
// policy.
func (f *Flag) chosen() (file, by string) {
	for _, source := range []struct{ file, by string }{
		{f.Argument, "the argument"}, {f.file, "--policy"}, {os.Getenv("RECOUP_POLICY"), "$RECOUP_POLICY"},
	} {
		if source.file != "" {
			return source.file, source.by
		}
	}
	return "", ""
}

// Load reads the chosen policy and returns it with its name. What is wrong with
// a file is printed line by line, so that editors can jump there.
func (f *Flag) Load(streams command.Streams) (*policy.Policy, string, error) {
	file, by := f.chosen()
	if file == "" {
		return policy.Default(), policy.DefaultName, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the policy: %w (given by %s)", err, by)
	}
	p, err := policy.Load(file, data, fault.Default())
	var refused *policy.LoadError
	if errors.As(err, &refused) {
		fmt.Fprintln(streams.Err, refused)
		fmt.Fprintf(streams.Err, "\n%s is invalid: %s (given by %s).\n", filepath.Base(file), command.Count(len(refused.Problems), "problem"), by)
		return nil, "", command.ErrSilent
	}
	return p, filepath.Base(file), err
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
