package policy

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// applyRequest is the change of a policy as the flags describe it.
type applyRequest struct {
	rebase, yes bool
	reason      string
}

func apply(streams command.Streams) *cobra.Command {
	var ask applyRequest
	cmd := &cobra.Command{
		Use:   "apply FILE --reason TEXT",
		Short: "Put a policy in force on a server",
		Long: `Puts a policy in force: it decides new errors. Open errors keep the version that admitted them,
unless --rebase applies it to them too. The plan is shown first, and on a terminal a confirmation
is asked for. An invalid file is refused, and the old policy stays in force.`,
		Example: `  recoup policy apply policy.yaml --reason "shorter retention"
  recoup policy apply policy.yaml --reason "shorter retention" --rebase --yes`,
		Args: command.ExactArgs("FILE"),
	}
	cmd.Flags().BoolVar(&ask.rebase, "rebase", false, "apply it to open errors too, as the plan shows")
	command.YesFlag(cmd, &ask.yes)
	return command.Act[wire.PolicyApplied]{
		On: command.Slow(planTime), Reason: &ask.reason, Need: true,
		Call: func(ctx context.Context, s *command.Session, args []string) (wire.PolicyApplied, error) {
			text, err := readPolicy(args[0])
			if err != nil {
				return wire.PolicyApplied{}, err
			}
			return ask.apply(ctx, s, text)
		},
		Say: sayApplied,
	}.Command(streams, cmd)
}

func (a *applyRequest) apply(ctx context.Context, s *command.Session, text string) (done wire.PolicyApplied, err error) {
	if err := s.Askable(a.yes); err != nil {
		return done, err
	}
	plan, err := fetchPlan(ctx, s, text)
	if err != nil {
		return done, err
	}
	printPlan(s.Err, s.Width, &plan)
	s.Notef("")
	if !a.yes {
		if err := s.Confirm(a.question(&plan)); err != nil {
			return done, err
		}
	}
	return admin.New(s.Client).Policy.Apply(ctx, wire.PolicyChange{Text: text, Rebase: a.rebase, Reason: a.reason}, client.NoRetry())
}

// question says in numbers what is about to happen.
func (a *applyRequest) question(p *engine.Plan) (question, answer string) {
	if a.rebase {
		return fmt.Sprintf("Put policy %s in force and change %d of %s?", command.Printable(p.Version), p.Changed, command.Count(p.Open, "open error")),
			fmt.Sprint(p.Changed)
	}
	return fmt.Sprintf("Put policy %s in force for new errors and leave %s as they are?", command.Printable(p.Version), command.Count(p.Open, "open error")),
		"yes"
}

func sayApplied(s *command.Session, done wire.PolicyApplied) {
	verb := "in force now"
	if !done.Added {
		verb = "in force already"
	}
	s.Sayf("Policy %s is %s: number %d.", command.Printable(done.Version), verb, done.Number)
	var result engine.RebaseResult
	if len(done.Rebased) > 0 && json.Unmarshal(done.Rebased, &result) == nil {
		s.Sayf("%s checked, %d changed, %d ended early.", command.Count(result.Open, "open error"), result.Changed, result.Ended)
	}
}
