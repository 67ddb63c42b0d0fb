package cli

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"recoup/internal/app"
)

func migrateCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Show and bring up to date the schema of a database",
		Long: `Show and bring up to date the schema of a database. Migrations only go forward. On
PostgreSQL run it as the schema's owner; nodes then connect as recoup_app, which owns
nothing. Any number may run at once: one does the work, the others wait for it.`,
		Example: `  recoup migrate status
  recoup migrate up --database postgres://owner@db/recoup`,
		Args: noArgs, RunE: group,
	}
	cmd.AddCommand(migrateStatus(streams), migrateUp(streams))
	return cmd
}

func migrateStatus(streams Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "List the migrations and when they were applied; change nothing",
		Example: `  recoup migrate status --database postgres://owner@db/recoup`,
		Args:    noArgs,
	}
	read := settingFlags(cmd, "database")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, options, err := read()
		if err != nil {
			return usageError{err}
		}
		list, err := app.MigrationStatus(cmd.Context(), options.Database)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(streams.Out, list)
		}
		for _, m := range list {
			when := "pending"
			if !m.AppliedAt.IsZero() {
				when = m.AppliedAt.UTC().Format(time.DateTime)
			}
			fmt.Fprintf(streams.Out, "%03d  %-16s %s\n", m.Version, m.Name, cmp.Or(when, "pending"))
		}
		return nil
	}
	return cmd
}

func migrateUp(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Apply what is pending",
		Example: `  recoup migrate up --database postgres://owner@db/recoup`,
		Args:    noArgs,
	}
	read := settingFlags(cmd, "database")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, options, err := read()
		if err != nil {
			return usageError{err}
		}
		applied, err := app.MigrateUp(cmd.Context(), options.Database)
		for _, m := range applied {
			fmt.Fprintf(streams.Err, "applied %03d %s\n", m.Version, m.Name)
		}
		if err != nil {
			return err
		}
		if len(applied) == 0 {
			fmt.Fprintln(streams.Err, "the schema is up to date")
		}
		return nil
	}
	return cmd
}
