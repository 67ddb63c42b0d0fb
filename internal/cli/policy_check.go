package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"recoup/fault"
	"recoup/internal/policy"
	"recoup/internal/proof"
)

func policyCheck(streams Streams) *cobra.Command {
	var file policyFlag
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Prove that a policy has no dead ends, or show a case that has",
		Long: `Asks the policy about every kind of failure in every table and follows everything
that can become of it, from deadline to deadline; of several ways to a state the
earliest is followed. What does not hold is an error, shown with a counterexample.
What the policy says but can never happen is a warning.

The exit status is 1 if there are errors, or warnings under --strict. FILE is
another way to write --policy FILE.`,
		Example: `  recoup policy check policy.yaml
  recoup policy check --strict --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			return exactArgs([]string{"FILE"}[:min(len(args), 1)]...)(cmd, args)
		},
	}
	file.add(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "count warnings as errors")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && file.file != "" {
			return usagef("the policy is given twice: as %s and by --policy %s", args[0], file.file)
		}
		file.argument = strings.Join(args, "")
		p, _, err := file.load(streams)
		if err != nil {
			return err
		}
		report := proof.Check(p, fault.Default())
		if err := printReport(streams.Out, file.name(), report, asJSON); err != nil {
			return err
		}
		if report.Count(proof.Error) > 0 || strict && report.Count(proof.Warning) > 0 {
			return errSilent
		}
		return nil
	}
	return cmd
}

// name is the policy as messages name it, so that editors find the file.
func (f *policyFlag) name() string {
	file, _ := f.chosen()
	return cmp.Or(file, policy.DefaultName)
}

func printReport(w io.Writer, name string, r proof.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	var b page
	for _, f := range r.Findings {
		b.wrap(fmt.Sprintf("%s:%d: %s: ", name, f.Line, f.Level), "    ",
			fmt.Sprintf("%s [%s, %s]", f.Message, f.Rule, count(f.Cases, "case")))
		for _, m := range f.Example {
			margin := "        "
			if m.At != "" {
				margin = fmt.Sprintf("        %-5s ", m.At)
			}
			b.wrap(margin, strings.Repeat(" ", len(margin)), m.What)
		}
	}
	printRules(&b, r)
	b.heading("RESULT")
	b.text(fmt.Sprintf("%s lead to %s; %s and %s were explored.", count(r.Cases, "case"),
		count(r.Answers, "different course"), count(r.States, "state"), count(r.Steps, "step")))
	verdict := "passes"
	if r.Count(proof.Error) > 0 {
		verdict = "fails"
	}
	b.text(fmt.Sprintf("Policy %s %s: %s, %s.", r.Version, verdict,
		count(r.Count(proof.Error), "error"), count(r.Count(proof.Warning), "warning")))
	_, err := io.WriteString(w, b.String())
	return err
}

// printRules tells what was proved and what was refuted.
func printRules(b *page, r proof.Report) {
	refuted := map[string]int{}
	for _, f := range r.Findings {
		refuted[f.Rule]++
	}
	var holds, fails [][]string
	for _, rule := range r.Rules {
		if n := refuted[rule.Name]; n > 0 {
			fails = append(fails, []string{rule.Name, count(n, string(rule.Level)), rule.Property})
			continue
		}
		holds = append(holds, []string{rule.Name, rule.Property})
	}
	if len(holds) > 0 {
		b.heading("PROVED")
		b.columns(holds...)
	}
	if len(fails) > 0 {
		b.heading("REFUTED")
		b.columns(fails...)
	}
}
