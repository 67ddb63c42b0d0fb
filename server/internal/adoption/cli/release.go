package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// released is what became of a release.
type released struct {
	Source string `json:"source"`
	Ended  bool   `json:"ended"` // its errors are, and nothing of the adoption is left
}

func releaseCommand(streams command.Streams) *cobra.Command {
	var yes, detach bool
	cmd := &cobra.Command{
		Use:   "release SCHEMA.TABLE",
		Short: "Undo 'recoup adopt': remove what it added to a table",
		Long: `Undoes 'recoup adopt': removes the triggers, functions, columns and rights that it added. The
table's definition is then what it was before, and its rows stay. Locks are taken for a moment only, as
'recoup adopt' does. Nodes archive the errors that are open as "released".`,
		Example: `  recoup adopt release shop.failures --database postgres://owner@db/shop
  recoup adopt release shop.failures --yes`,
		Args: command.ExactArgs("SCHEMA.TABLE"),
	}
	command.YesFlag(cmd, &yes)
	cmd.Flags().BoolVar(&detach, "no-wait", false, "do not wait for nodes to end the errors that are open")
	read := command.SettingFlags(streams, cmd, "database", "database-direct", "schema-owner")
	return command.Offline(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		_, options, err := read()
		if err != nil {
			return err
		}
		if err := s.Askable(yes); err != nil {
			return err
		}
		conn, err := connect(ctx, options)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		if !yes {
			if err := s.Confirm(fmt.Sprintf("%s is governed no more, and its open errors end.", args[0]), "release"); err != nil {
				return err
			}
		}
		ended, err := release(ctx, s, conn, args[0], detach)
		if err != nil {
			return err
		}
		if s.Machine() {
			return s.Print(released{args[0], ended})
		}
		s.Sayf("%s is released: nothing of Recoup is left in it.", args[0])
		if !ended {
			s.Sayf("Its open errors end once a node runs.")
		}
		return nil
	})
}

// release takes everything out of a source, and waits for nodes to end its errors, if
// one runs.
func release(ctx context.Context, s *command.Session, conn *session, source string, detach bool) (ended bool, err error) {
	r := runner(s, conn, "")
	ended, err = r.Release(ctx, source)
	for err == nil && !ended && !detach {
		var alive bool
		if alive, err = nodeRuns(ctx, s, conn.Conn); err != nil || !alive {
			break
		}
		if err = pause(ctx, s); err == nil {
			ended, err = r.Forget(ctx)
		}
	}
	return ended, err
}
