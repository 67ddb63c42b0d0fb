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
		Short: "Read the policy: what happens to which failure, and why",
		Args:  noArgs,
		RunE:  group,
	}
	cmd.AddCommand(
		policyShow(streams),
		policyExplain(streams),
		policyCheck(streams),
		policySimulate(streams),
		policySchema(streams),
	)
	return cmd
}

// policyFlag is the flag --policy and the variable that stands in for it.
type policyFlag struct{ file string }

func (f *policyFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "policy", "", "policy file (also $RECOUP_POLICY; default: the built-in policy)")
}

// load reads the chosen policy and returns it with its name. What is wrong with
// a file is printed line by line, so that editors can jump there.
func (f *policyFlag) load(streams Streams) (*policy.Policy, string, error) {
	file := f.file
	if file == "" {
		file = os.Getenv("RECOUP_POLICY")
	}
	if file == "" {
		return policy.Default(), policy.DefaultName, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("the policy cannot be read: %w", err)
	}
	p, err := policy.Load(file, data, fault.Default())
	var refused *policy.LoadError
	if errors.As(err, &refused) {
		fmt.Fprintln(streams.Err, refused)
		fmt.Fprintf(streams.Err, "\n%s is refused: %s.\n", filepath.Base(file), count(len(refused.Problems), "problem"))
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
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := streams.Out.Write(policy.Schema())
			return err
		},
	}
}
