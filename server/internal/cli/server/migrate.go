package server

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

func migrate(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "migrate",
		Short: "Show and apply migrations of the database schema",
		Long: `Shows and applies migrations of the database schema. They only go forward. On PostgreSQL run it
as the schema's owner; nodes then connect as recoup_app, which owns nothing. Any number may run
at once: one does the work, the others wait for it.`,
		Example: `  recoup migrate status
  recoup migrate up --database postgres://owner@db/recoup`,
	}, migrateStatus(streams), migrateUp(streams))
}

func migrateStatus(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List the migrations and when they were applied",
		Example: `  recoup migrate status --database postgres://owner@db/recoup`,
		Args:    command.NoArgs,
	}
	read := command.SettingFlags(streams, cmd, "database", "schema-owner")
	return command.Offline(streams, cmd, command.One, func(ctx context.Context, s *command.Session, _ []string) error {
		_, options, err := read()
		if err != nil {
			return err
		}
		list, err := app.MigrationStatus(ctx, options.Database, options.SchemaOwner)
		if err != nil {
			return err
		}
		if s.Machine() {
			return s.Print(list)
		}
		for _, m := range list {
			when := "pending"
			if !m.AppliedAt.IsZero() {
				when = stream.Stamp(m.AppliedAt)
			}
			s.Sayf("%03d  %-16s %s", m.Version, m.Name, when)
		}
		return nil
	})
}

func migrateUp(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Apply pending migrations",
		Long: `Applies pending migrations, each in one transaction. Names that they would make are checked
before the first change: if something else has one, all of them are listed, and nothing is changed.
` + app.TakeOverHelp,
		Example: `  recoup migrate up --database postgres://owner@db/recoup`,
		Args:    command.NoArgs,
	}
	read := command.SettingFlags(streams, cmd, "database", "database-direct")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, options, err := read()
		if err != nil {
			return err
		}
		s := command.Session{Streams: streams}
		applied, err := app.MigrateUp(cmd.Context(), options.Database, options.Direct)
		for _, m := range applied {
			s.Notef("applied %03d %s", m.Version, m.Name)
		}
		if err != nil {
			return err
		}
		admins, err := app.RoleAdmins(cmd.Context(), options.Database, options.Direct)
		if err != nil {
			return err
		}
		for _, a := range admins {
			s.Notef("warning: %s If it is not an administrator of the server, a superuser runs: %s", a, a.Revoke)
		}
		if err := noteRoles(cmd.Context(), s, options, len(applied) > 0); err != nil {
			return err
		}
		if len(applied) == 0 {
			return nil
		}
		taken, err := app.TakenOver(cmd.Context(), options.Database, options.Direct, applied)
		if taken != nil {
			s.Notef("%s", taken)
		}
		return err
	}
	return cmd
}

// noteRoles describes an installation with one role once, after migrations that were applied. A
// schema that was up to date is reported in one line.
func noteRoles(ctx context.Context, s command.Session, o app.Options, applied bool) error {
	owner, err := app.SchemaOwner(ctx, o.Database, o.Direct)
	switch {
	case err != nil:
		return err
	case !applied && owner.OneRole():
		s.Notef("the schema is up to date, with one role: recoup doctor lists what is weaker")
	case !applied:
		s.Notef("the schema is up to date")
	case owner.OneRole():
		s.Notef("one role: %s may not create roles, and %s does not exist. Recoup works with this one role. What is weaker:", owner.Name, owner.Missing[0])
		for _, line := range owner.Weaker() {
			s.Notef("  - %s", line)
		}
		s.Notef("To change this, an administrator runs\n  %s\nThen run recoup migrate up again, and let nodes connect as %s.", owner.CreateRoles(), owner.Missing[0])
	}
	return nil
}
