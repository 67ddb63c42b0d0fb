package server

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// copied is what a backup or a restore has written.
type copied struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`

	Findings []wire.Finding `json:"findings,omitempty"` // about the guards of a restored database
}

func backup(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the embedded database to a new file, while servers run",
		Long: `Writes a consistent copy of the embedded database to a new file. Servers go on reading and writing
meanwhile. The copy is verified before it gets the file's name. A backup holds what the database
holds, keys and payloads too: keep it as safe.`,
		Example: `  recoup backup recoup-monday.db
  recoup backup /backup/recoup.db --database sqlite:/var/lib/recoup/recoup.db`,
		Args: command.ExactArgs("FILE"),
	}
	read := command.SettingFlags(streams, cmd, "database")
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
			return s.Print(copied{File: args[0], Bytes: info.Size()})
		}
		s.Sayf("%s is written and checked: %.1f MB.", args[0], float64(info.Size())/1e6)
		return nil
	})
}

func restore(streams command.Streams) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the embedded database with a backup",
		Long: `Replaces the embedded database with a backup. Stop the server first: a database that is open is
not replaced. What it holds now is lost, unless you back it up before. A symbolic link stays one:
the file that it leads to is replaced.

Then the triggers of the restored database are compared with those of Recoup. The exit status is 1
if one is missing, replaced or not part of Recoup; the database is restored all the same.`,
		Example: `  recoup restore recoup-monday.db
  recoup restore /backup/recoup.db --database sqlite:/data/recoup.db --yes`,
		Args: command.ExactArgs("FILE"),
	}
	command.YesFlag(cmd, &yes)
	read := command.SettingFlags(streams, cmd, "database")
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
		return restored(ctx, s, args[0], path, options)
	})
}

// restored prints what was restored, and what is wrong with its guards.
func restored(ctx context.Context, s *command.Session, from, path string, o app.Options) error {
	o.Now = s.Now
	found, known, err := app.Guards(ctx, o)
	if err != nil {
		return fmt.Errorf("%s is restored, and its triggers cannot be read: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	switch {
	case s.Machine():
		err = s.Print(copied{path, info.Size(), found.Findings})
	case !known:
		s.Sayf("%s holds what %s does. Its schema is of another version, so its triggers were not compared. Start the server again, then run 'recoup doctor'.", path, from)
	case len(found.Findings) > 0:
		s.Sayf("%s holds what %s does. Look at these findings before you start the server again.\n", path, from)
		fmt.Fprint(s.Out, written(s, found))
	default:
		s.Sayf("%s holds what %s does. Its triggers are those of Recoup. Start the server again.", path, from)
	}
	if err == nil && !found.Healthy() {
		return command.ErrSilent
	}
	return err
}
