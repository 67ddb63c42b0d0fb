package server

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"recoup/internal/app"
	"recoup/internal/cli/command"
)

// copied is what a backup or a restore has written.
type copied struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

func backup(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the embedded database to a new file, while it is used",
		Long: `Writes the embedded database, as it is at one moment, to a new file. Servers go on reading and
writing it meanwhile. The copy is checked before it bears its name. A backup holds what the
database holds, keys and payloads too: keep it as safe.`,
		Example: `  recoup backup recoup-monday.db
  recoup backup /backup/recoup.db --database sqlite:/var/lib/recoup/recoup.db`,
		Args: command.ExactArgs("FILE"),
	}
	read := command.SettingFlags(cmd, "database")
	return command.Offline(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		_, options, err := read()
		if err != nil {
			return err
		}
		if err := app.Backup(ctx, options, args[0]); err != nil {
			return err
		}
		info, err := os.Stat(args[0])
		if err != nil {
			return err
		}
		if s.Machine() {
			return s.Print(copied{args[0], info.Size()})
		}
		s.Sayf("%s is written and checked: %.1f MB.", args[0], float64(info.Size())/1e6)
		return nil
	})
}

func restore(streams command.Streams) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of the embedded database",
		Long: `Puts a backup in the place of the embedded database. Stop the server first: a database that is
open is not replaced. What the database holds now is lost, unless it is backed up before.`,
		Example: `  recoup restore recoup-monday.db
  recoup restore /backup/recoup.db --database sqlite:/data/recoup.db --yes`,
		Args: command.ExactArgs("FILE"),
	}
	command.YesFlag(cmd, &yes)
	read := command.SettingFlags(cmd, "database")
	return command.Offline(streams, cmd, command.One, func(ctx context.Context, s *command.Session, args []string) error {
		_, options, err := read()
		if err != nil {
			return err
		}
		path := strings.TrimPrefix(options.Database, "sqlite:")
		if info, err := os.Stat(path); err == nil && info.Size() > 0 && !yes {
			if err := s.Askable(yes); err != nil {
				return err
			}
			if err := s.Confirm(fmt.Sprintf("%s is there already, and what it holds will be lost.", path), "replace"); err != nil {
				return err
			}
		}
		if err := app.Restore(ctx, args[0], options.Database); err != nil {
			return err
		}
		if s.Machine() {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return s.Print(copied{path, info.Size()})
		}
		s.Sayf("%s holds what %s does. Start the server again.", path, args[0])
		return nil
	})
}
