package errorcmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func promotion(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "promotion",
		Short:   "Check whether entities may be promoted",
		Example: `  recoup promotion check order-1`,
	}, checkPromotion(streams))
}

func checkPromotion(streams command.Streams) *cobra.Command {
	return command.Act[recoup.PromotionStatus]{
		Call: func(ctx context.Context, s *command.Session, args []string) (recoup.PromotionStatus, error) {
			g, err := s.CheckPromotion(ctx, args[0])
			if err == nil && !g.Blocked {
				g.Unknown, err = admin.New(s.Client).System.EntityUnknown(ctx, args[0])
			}
			return g, err
		},
		Say:    sayGate,
		Failed: func(g recoup.PromotionStatus) bool { return g.Blocked },
	}.Command(streams, &cobra.Command{
		Use:   "check ENTITY",
		Short: "Check whether an entity may be promoted, and what blocks it",
		Long: `Checks whether an entity may be promoted. If not, it lists what blocks it, who owns each of
the errors and when each would end by itself. The exit status is 1 if the entity is blocked, so
that a script can wait for it.`,
		Example: `  recoup promotion check order-1
  recoup promotion check order-1 --json`,
		Args: command.ExactArgs("ENTITY"),
	})
}

func sayGate(s *command.Session, g recoup.PromotionStatus) {
	if g.Unknown {
		s.Sayf("%s is not blocked, but nobody has ever reported anything about it, or promoted it: check how it is spelt.", command.Printable(g.EntityID))
		return
	}
	if !g.Blocked {
		s.Sayf("%s is not blocked: it may be promoted.", command.Printable(g.EntityID))
		return
	}
	blockers := command.Count(len(g.Blockers), "error")
	if g.More {
		blockers = "more than " + blockers
	}
	s.Sayf("%s is blocked by %s:\n\n%s", command.Printable(g.EntityID), blockers, command.GateTable(s.Streams, g))
	if slices.ContainsFunc(g.Blockers, func(b recoup.Blocker) bool { return b.Unread }) {
		s.Sayf("A row of an adopted table is not read yet: a node does that within a second. Ask again then.")
		return
	}
	if g.OpensAt.IsZero() {
		s.Sayf("It stays blocked until somebody acts.")
		return
	}
	s.Sayf("If nobody acts, the gate opens %s.", s.Relative(g.OpensAt))
}

func promote(streams command.Streams) *cobra.Command {
	var phase, repeat string
	cmd := &cobra.Command{
		Use:   "promote ENTITY --phase PHASE",
		Short: "Promote an entity to its next phase, unless it is blocked",
		Long: `Checks the gate and records the promotion in one transaction, so that no report can come in
between. A blocked entity is not promoted, and the exit status is 1.`,
		Example: `  recoup promote order-1 --phase shipping`,
		Args:    command.ExactArgs("ENTITY"),
	}
	cmd.Flags().StringVar(&phase, "phase", "", "the `PHASE` to promote it to; required")
	repeatFlag(cmd, &repeat)
	return command.Act[recoup.Promoted]{
		Check: func(*command.Session, []string) error {
			if phase == "" {
				return command.Usagef("--phase is missing: expected the phase to promote the entity to")
			}
			return nil
		},
		Call: func(ctx context.Context, s *command.Session, args []string) (recoup.Promoted, error) {
			return s.Promote(ctx, recoup.Promotion{EntityID: args[0], Phase: phase}, repeated(repeat)...)
		},
		Say: func(s *command.Session, p recoup.Promoted) {
			s.Sayf("%s promoted to %s by %s: promotion %d.", command.Printable(p.EntityID), command.Printable(p.Phase), command.Printable(p.By), p.Seq)
			if p.Repeated {
				s.Notef("Already recorded under this idempotency key.")
			}
		},
	}.Command(streams, cmd)
}

// repeatFlag adds the flag for the idempotency key.
func repeatFlag(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(key, "idempotency-key", "", "`KEY` by which the server recognises a repeated call")
}

func repeated(key string) []client.CallOption {
	if key == "" {
		return nil
	}
	return []client.CallOption{client.IdempotencyKey(key)}
}
