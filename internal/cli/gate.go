package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"recoup/client"
)

func gateCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gate ENTITY",
		Short: "See whether an entity may go on, and if not, why",
		Long: `Says whether an entity may be promoted. If not, it says what blocks it, who owns each of
the errors and when each would end by itself. The exit status is 1 if it is blocked, so
that a script can wait behind it.`,
		Example: `  recoup gate CO-20260205-000001
  recoup gate CO-20260205-000001 --json`,
		Args: exactArgs("ENTITY"),
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		gate, err := s.Gate(ctx, args[0])
		if err != nil {
			return err
		}
		if s.json {
			err = printJSON(s.Out, gate)
		} else {
			s.printGate(gate)
		}
		if err == nil && gate.Blocked {
			return errSilent
		}
		return err
	})
}

func (s *session) printGate(g client.Gate) {
	if !g.Blocked {
		fmt.Fprintf(s.Out, "%s may go on.\n", printable(g.EntityID))
		return
	}
	blockers := count(len(g.Blockers), "error")
	if g.More {
		blockers = "more than " + blockers
	}
	fmt.Fprintf(s.Out, "%s is blocked by %s:\n\n%s\n", printable(g.EntityID), blockers, gateTable(s.Streams, g))
	if g.OpensAt.IsZero() {
		fmt.Fprintln(s.Out, "It does not open by itself.")
		return
	}
	fmt.Fprintf(s.Out, "If nobody acts it opens %s.\n", s.relative(g.OpensAt))
}

// gateTable lists what blocks an entity, whose turn it is and until when.
func gateTable(s Streams, g client.Gate) *table {
	t := newTable(s, "ERROR", "TABLE", "CODE", "STATE", "OWNER", "SINCE", "RETRY", "ENDS")
	for _, b := range g.Blockers {
		ends, retry := "by hand", ""
		if !b.EndsAt.IsZero() {
			ends = s.relative(b.EndsAt)
		}
		if !b.NextRetryAt.IsZero() {
			retry = s.relative(b.NextRetryAt)
		}
		t.add(b.ErrorID.String(), b.Table, string(b.Code), string(b.State), b.Owner, s.ago(b.Since), retry, ends)
	}
	return t
}
