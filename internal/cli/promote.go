package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"recoup/client"
)

func promoteCommand(streams Streams) *cobra.Command {
	var phase, repeat string
	cmd := &cobra.Command{
		Use:   "promote ENTITY --phase PHASE",
		Short: "Move an entity to its next phase, unless something blocks it",
		Long: `Checks the gate and records the promotion, in one transaction that no report can slip
into. A blocked entity stays where it is, and the exit status is 1.`,
		Example: `  recoup promote CO-20260205-000001 --phase outreach`,
		Args:    exactArgs("ENTITY"),
	}
	cmd.Flags().StringVar(&phase, "phase", "", "the `PHASE` it moves to; required")
	cmd.Flags().StringVar(&repeat, "idempotency-key", "", "`KEY` by which the server knows a promotion that is sent again")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		if phase == "" {
			return usagef("--phase is missing: expected the phase that the entity moves to")
		}
		var options []client.CallOption
		if repeat != "" {
			options = append(options, client.IdempotencyKey(repeat))
		}
		done, err := s.Promote(ctx, client.Promotion{EntityID: args[0], Phase: phase}, options...)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, done)
		}
		fmt.Fprintf(s.Out, "%s is promoted to %s by %s: number %d.\n",
			printable(done.EntityID), printable(done.Phase), printable(done.By), done.Seq)
		if done.Repeated {
			fmt.Fprintln(s.Err, "The server had done it already, by the same idempotency key.")
		}
		return nil
	})
}
