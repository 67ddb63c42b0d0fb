package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"recoup/fault"
	"recoup/internal/policy"
)

func policyCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Read, prove and try out the policy: what happens to which failure, and why",
		Long: `The policy is a YAML file that says for each error table how failures are retried,
parked, escalated and expired. Plan and apply talk to a server, and apply changes its
policy. The others read a file and change nothing.`,
		Example: `  recoup policy show
  recoup policy explain --table outreach.dol_errors --code NETWORK_TIMEOUT`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(
		policyShow(streams),
		policyExplain(streams),
		policyCheck(streams),
		policySimulate(streams),
		policyPlan(streams),
		policyApply(streams),
		policySchema(streams),
	)
	return cmd
}

// policyFlag is how a policy file is chosen: by the flag --policy, by an argument
// where a command takes one, or by the variable that stands in for both.
type policyFlag struct{ file, argument string }

func (f *policyFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "policy", "", "policy `FILE` (also $RECOUP_POLICY; default: the built-in policy)")
}

// chosen returns the policy file and what named it, or nothing for the built-in
// policy.
func (f *policyFlag) chosen() (file, by string) {
	for _, source := range []struct{ file, by string }{
		{f.argument, "the argument"}, {f.file, "--policy"}, {os.Getenv("RECOUP_POLICY"), "$RECOUP_POLICY"},
	} {
		if source.file != "" {
			return source.file, source.by
		}
	}
	return "", ""
}

// load reads the chosen policy and returns it with its name. What is wrong with
// a file is printed line by line, so that editors can jump there.
func (f *policyFlag) load(streams Streams) (*policy.Policy, string, error) {
	file, by := f.chosen()
	if file == "" {
		return policy.Default(), policy.DefaultName, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("the policy cannot be read: %w (named by %s)", err, by)
	}
	p, err := policy.Load(file, data, fault.Default())
	var refused *policy.LoadError
	if errors.As(err, &refused) {
		fmt.Fprintln(streams.Err, refused)
		fmt.Fprintf(streams.Err, "\n%s is refused: %s (named by %s).\n", filepath.Base(file), count(len(refused.Problems), "problem"), by)
		return nil, "", errSilent
	}
	return p, filepath.Base(file), err
}

// count writes a number with its noun: 1 problem, 2 problems.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func policySchema(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of policy files, for editors",
		Long: `Prints the JSON schema of policy files. An editor that knows it completes keys and
marks mistakes while you type.`,
		Example: `  recoup policy schema > policy.schema.json`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := streams.Out.Write(policy.Schema())
			return err
		},
	}
}
