package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/proof"
)

func check(streams command.Streams) *cobra.Command {
	var file command.PolicyFlags
	var strict bool
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Prove that a policy has no dead ends, or show a counterexample",
		Long: `Checks every kind of failure in every table and follows everything that can become of it, from
deadline to deadline; of several ways to a state the earliest is followed. A property that does
not hold is an error, shown with a counterexample. What the policy says but can never happen is a
warning.

The exit status is 1 if there are errors, or warnings with --strict. FILE is another way to write
--policy FILE.`,
		Example: `  recoup policy check policy.yaml
  recoup policy check --strict --json`,
		Args: command.AtMost(1),
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "count warnings as errors")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && file.Given() != "" {
			return command.Usagef("the policy is given twice: as %s and by --policy %s", args[0], file.Given())
		}
		file.Argument = strings.Join(args, "")
		return nil
	}
	return file.Offline(streams, cmd, command.One, func(_ context.Context, s *command.Session, _ []string) error {
		report := proof.Check(file.Policy, file.Policy.Registry())
		if err := printReport(s, cmp.Or(file.Argument, file.Given(), file.Name), report); err != nil {
			return err
		}
		if report.Count(proof.Error) > 0 || strict && report.Count(proof.Warning) > 0 {
			return command.ErrSilent
		}
		return nil
	})
}

func printReport(s *command.Session, name string, r proof.Report) error {
	if s.Machine() {
		return s.Print(r)
	}
	b := command.Page{Width: s.Width}
	for _, f := range r.Findings {
		at := name
		if f.Line > 0 { // a default stands on none
			at = fmt.Sprintf("%s:%d", name, f.Line)
		}
		b.Wrap(fmt.Sprintf("%s: %s: ", at, f.Level), "    ",
			fmt.Sprintf("%s [%s, %s]", f.Message, f.Rule, command.Count(f.Cases, "case")))
		for _, m := range f.Example {
			margin := "        "
			if m.At != "" {
				margin = fmt.Sprintf("        %-5s ", m.At)
			}
			b.Wrap(margin, strings.Repeat(" ", len(margin)), m.What)
		}
	}
	printRules(&b, r)
	b.Heading("RESULT")
	b.Text(fmt.Sprintf("%s lead to %s; %s and %s were explored.", command.Count(r.Cases, "case"),
		command.Count(r.Answers, "different course"), command.Count(r.States, "state"), command.Count(r.Steps, "step")))
	verdict := "passes"
	if r.Count(proof.Error) > 0 {
		verdict = "fails"
	}
	b.Text(fmt.Sprintf("Policy %s %s: %s, %s.", r.Version, verdict,
		command.Count(r.Count(proof.Error), "error"), command.Count(r.Count(proof.Warning), "warning")))
	_, err := io.WriteString(s.Out, b.String())
	return err
}

// printRules lists what was proved and what was refuted.
func printRules(b *command.Page, r proof.Report) {
	refuted := map[string]int{}
	for _, f := range r.Findings {
		refuted[f.Rule]++
	}
	var holds, fails [][]string
	for _, rule := range r.Rules {
		if n := refuted[rule.Name]; n > 0 {
			fails = append(fails, []string{rule.Name, command.Count(n, string(rule.Level)), rule.Property})
			continue
		}
		holds = append(holds, []string{rule.Name, rule.Property})
	}
	if len(holds) > 0 {
		b.Heading("PROVED")
		b.Columns(holds...)
	}
	if len(fails) > 0 {
		b.Heading("REFUTED")
		b.Columns(fails...)
	}
}
