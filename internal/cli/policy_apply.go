package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
	"recoup/internal/engine"
)

// applyRequest is the change of a policy as the flags describe it.
type applyRequest struct {
	rebase, yes bool
	reason      string
}

func policyApply(streams Streams) *cobra.Command {
	var ask applyRequest
	cmd := &cobra.Command{
		Use:   "apply FILE --reason TEXT",
		Short: "Put a policy in force on a server",
		Long: `Puts a policy in force: new errors are judged by it. Open ones keep the version that
admitted them, unless --rebase applies it to them too. The plan is shown first, and on a
terminal a confirmation is asked for. A bad file is refused, and the old policy stays.`,
		Example: `  recoup policy apply policy.yaml --reason "shorter retention"
  recoup policy apply policy.yaml --reason "shorter retention" --rebase --yes`,
		Args: exactArgs("FILE"),
	}
	cmd.Flags().BoolVar(&ask.rebase, "rebase", false, "apply it to the open errors too, as the plan says")
	cmd.Flags().StringVar(&ask.reason, "reason", "", "why, as `TEXT` for the audit and the history; required")
	yesFlag(cmd, &ask.yes)
	return onSlowServer(streams, cmd, planTime, func(ctx context.Context, s *session, args []string) error {
		if strings.TrimSpace(ask.reason) == "" {
			return usagef("--reason is missing: the audit keeps why it was done")
		}
		text, err := readPolicy(args[0])
		if err != nil {
			return err
		}
		return ask.apply(ctx, s, text)
	})
}

func (a *applyRequest) apply(ctx context.Context, s *session, text string) error {
	if err := s.askable(a.yes); err != nil {
		return err
	}
	plan, err := s.plan(ctx, text)
	if err != nil {
		return err
	}
	printPlan(s.Err, &plan)
	fmt.Fprintln(s.Err)
	if !a.yes {
		if err := s.confirm(a.question(&plan)); err != nil {
			return err
		}
	}
	done, err := s.ApplyPolicy(ctx, client.PolicyChange{Text: text, Rebase: a.rebase, Reason: a.reason}, client.NoRetry())
	switch {
	case err != nil:
		return err
	case s.json:
		return printJSON(s.Out, done)
	}
	return s.printApplied(&done)
}

// question says in numbers what is about to happen.
func (a *applyRequest) question(p *engine.Plan) (question, answer string) {
	if a.rebase {
		return fmt.Sprintf("Put policy %s in force and change %d of %s?", printable(p.Version), p.Changed, count(p.Open, "open error")),
			fmt.Sprint(p.Changed)
	}
	return fmt.Sprintf("Put policy %s in force for new errors and leave %s as they are?", printable(p.Version), count(p.Open, "open error")),
		"yes"
}

func (s *session) printApplied(done *client.PolicyApplied) error {
	verb := "in force now"
	if !done.Added {
		verb = "in force already"
	}
	fmt.Fprintf(s.Out, "Policy %s is %s: number %d.\n", printable(done.Version), verb, done.Number)
	if len(done.Rebased) == 0 {
		return nil
	}
	var result engine.RebaseResult
	if err := json.Unmarshal(done.Rebased, &result); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s looked at, %d changed, %d ended before their turn.\n",
		count(result.Open, "open error"), result.Changed, result.Ended)
	return nil
}
