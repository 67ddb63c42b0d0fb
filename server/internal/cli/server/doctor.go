package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/slices"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// examination is how a doctor is asked: what it may do, and where.
type examination struct {
	fix, yes bool
	flags    command.ServerFlags
	read     func() (config.Values, app.Options, error)
}

func doctor(streams command.Streams) *cobra.Command {
	var e examination
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong with the installation, and how to fix it",
		Long: `Compares the policy, the database and the node, and prints what is wrong: names that are taken,
guards that are missing or disabled, indexes, privileges, partitions, rows that break an invariant,
jobs that are behind, settings that lose writes, backups, and more. Each finding has its evidence
and the command that fixes it. It reads a bounded sample of rows, and changes nothing.

It asks a server, which also knows itself, and needs a key for all hubs with the role operator or
admin. With --database it looks at the database itself, also where no server runs. --fix then fixes
what is safe to fix, after a confirmation; on PostgreSQL it needs the schema's owner. What was fixed
is in the audit.

The exit status is 0 if nothing is worse than a note, and 1 if something is.`,
		Example: `  recoup doctor
  recoup doctor --database postgres://owner@db/recoup --fix
  recoup doctor --database sqlite:recoup.db --json`,
		Args: command.NoArgs,
	}
	cmd.Flags().BoolVar(&e.fix, "fix", false, "fix what is safe to fix; needs --database")
	command.YesFlag(cmd, &e.yes)
	e.flags.Add(cmd, "")
	e.read = command.SettingFlags(streams, cmd, "database", "database-direct", "schema-owner")
	s := &command.Session{Streams: streams}
	s.Flags(cmd, command.One)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		direct := cmd.Flags().Changed("database")
		switch {
		case direct && e.flags.Server != "":
			return command.Usagef("--server and --database are given: expected one of the two")
		case e.fix && !direct:
			return command.Usagef("--fix changes the schema, which a server may not: repeat it with --database URL, on PostgreSQL as the schema's owner")
		case e.yes && !e.fix:
			return command.Usagef("--yes answers the confirmation of --fix, which is not given")
		case direct:
			return e.here(cmd.Context(), s)
		}
		return e.there(cmd, args, s)
	}
	return cmd
}

// there asks a server.
func (e *examination) there(cmd *cobra.Command, args []string, s *command.Session) error {
	c, err := e.flags.Connect(s.Now, 0)
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := admin.New(c).System.Doctor(cmd.Context())
	if err != nil {
		return e.flags.Explain(cmd, args, err)
	}
	return report(s, found)
}

// here looks at a database, and fixes what it was asked to.
func (e *examination) here(ctx context.Context, s *command.Session) error {
	_, options, err := e.read()
	if err != nil {
		return err
	}
	options.Now, options.Slices = s.Now, slices.All()
	d, err := app.OpenDoctor(ctx, options)
	if err != nil {
		return err
	}
	d.Prove = !e.fix
	found, err := d.Examine(ctx)
	if err == nil && e.fix {
		if err = e.confirm(s, found); err == nil {
			found, err = fix(ctx, s, d, options)
		}
	}
	if err := errors.Join(err, d.Close()); err != nil {
		return err
	}
	return report(s, found)
}

// confirm asks before something is changed, if there is something to change.
func (e *examination) confirm(s *command.Session, found wire.Diagnosis) error {
	var safe []string
	for i := range found.Findings {
		if found.Findings[i].Safe {
			safe = append(safe, found.Findings[i].Subject)
		}
	}
	if len(safe) == 0 || e.yes {
		return nil
	}
	if err := s.Askable(e.yes); err != nil {
		return err
	}
	return s.Confirm(fmt.Sprintf("This fixes %s: %s.", command.Count(len(safe), "finding"), command.Printable(strings.Join(safe, "; "))), "fix")
}

// fix fixes what is safe, and looks again: what is left is reported.
func fix(ctx context.Context, s *command.Session, d *app.Doctor, o app.Options) (wire.Diagnosis, error) {
	fixed, err := d.Fix(ctx)
	for i := range fixed {
		s.Notef("fixed: %s", command.Printable(fixed[i].Subject))
	}
	if err != nil {
		return wire.Diagnosis{}, err
	}
	again, err := app.OpenDoctor(ctx, o)
	if err != nil {
		return wire.Diagnosis{}, err
	}
	left, err := again.Examine(ctx)
	return left, errors.Join(err, again.Close())
}

// report prints findings, and ends with status 1 if one is worse than a note.
func report(s *command.Session, found wire.Diagnosis) error {
	if s.Machine() {
		if err := s.Print(found); err != nil {
			return err
		}
	} else {
		fmt.Fprint(s.Out, written(s, found))
	}
	if !found.Healthy() {
		return command.ErrSilent
	}
	return nil
}

// written are findings for people. Commands are not wrapped: they are there to be pasted.
func written(s *command.Session, found wire.Diagnosis) string {
	p := command.Page{Width: cmp.Or(s.Width, command.HelpWidth)}
	for i := range found.Findings {
		f := &found.Findings[i]
		if i > 0 {
			p.WriteByte('\n')
		}
		p.Wrap("", "  ", fmt.Sprintf("%s: %s (%s)", strings.ToUpper(string(f.Severity)), command.Printable(f.Subject), f.Check))
		p.Text(command.Printable(f.Evidence))
		switch {
		case f.Fix == "":
		case f.Safe:
			p.Verbatim("fix* " + command.Printable(f.Fix) + "\n")
		default:
			p.Verbatim("fix  " + command.Printable(f.Fix) + "\n")
		}
	}
	p.Heading(summary(found))
	return p.String()
}

// summary is the last line.
func summary(found wire.Diagnosis) string {
	if len(found.Findings) == 0 {
		return fmt.Sprintf("%s: nothing found.", command.Count(found.Checks, "check"))
	}
	worst, safe := map[wire.FindingSeverity]int{}, 0
	for i := range found.Findings {
		worst[found.Findings[i].Severity]++
		if found.Findings[i].Safe {
			safe++
		}
	}
	var parts []string
	for _, severity := range wire.FindingSeverities() {
		if n := worst[severity]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, severity))
		}
	}
	text := fmt.Sprintf("%s: %s.", command.Count(found.Checks, "check"), strings.Join(parts, ", "))
	if safe > 0 {
		text += "\nrecoup doctor --fix --database URL does what is marked fix*."
	}
	return text
}
