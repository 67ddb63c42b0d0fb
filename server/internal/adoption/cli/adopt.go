package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// flags are those of 'recoup adopt'.
type flags struct {
	request      define.Request
	code         string
	plan, apply  bool
	yes, detach  bool
	readDatabase settings
	mirrors      func() bool // --no-mirror=false is given
}

func adoptCommand(streams command.Streams) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "adopt SCHEMA.TABLE",
		Short: "Put an existing PostgreSQL table under the policy, where it is",
		Long: `Puts an existing PostgreSQL table under the policy, where it is. Its writers go on unchanged: each
row is one governed error, and what the policy decides is written into two new columns.

Without --apply it prints the plan and changes nothing: what each column means, the exact
statements, their locks, and how many rows would be governed. What no flag says is guessed from
names, types and the first rows.

With --apply it takes each lock for a moment only, tries again if it is held, and goes on where
it was if it was interrupted. Nodes then read the rows that are there. It runs with the rights of
both owners, of the table and of the schema recoup. 'recoup adopt release' takes everything out again.`,
		Example: `  recoup adopt shop.failures --database postgres://owner@db/shop
  recoup adopt shop.failures --entity order_id --code TIMEOUT --as shop.errors
  recoup adopt shop.failures --resolved-when "status = 'done'" --apply --yes
  recoup adopt public.river_job --preset river --as shop.errors`,
		Args:        command.ExactArgs("SCHEMA.TABLE"),
		Annotations: map[string]string{command.OwnUse: "recoup adopt SCHEMA.TABLE [flags]"},
	}
	m := &f.request.Mapping
	cmd.Flags().StringVar(&f.request.As, "as", "", "error `TABLE` of the policy (default: the one of the same name)")
	cmd.Flags().StringVar(&f.request.Preset, "preset", "", "the table is that of a queue, `NAME` is "+strings.Join(preset.Names(), ", ")+"; it says what means what, other flags override it")
	cmd.Flags().StringVar(&m.Entity, "entity", "", "`COLUMN` that names what cannot go on; in JSON: \"args->>'order_id'\"")
	cmd.Flags().StringVar(&f.code, "code", "", "`COLUMN` with the code, or the CODE of every row")
	cmd.Flags().StringVar(&m.Message, "message", "", "`COLUMN` with the message")
	cmd.Flags().StringVar(&m.Severity, "severity", "", "`COLUMN` with the severity (default: the code's)")
	cmd.Flags().StringVar(&m.CreatedAt, "created-at", "", "`COLUMN` with the time of the failure")
	cmd.Flags().StringVar(&m.TimeZone, "time-zone", "", "time zone `NAME` of times without one, such as Europe/Berlin (default: the setting TimeZone of the table's owner)")
	cmd.Flags().StringVar(&m.LastSeen, "last-seen", "", "`COLUMN` that changes when the row fails again: the time of the last failure, or a count of them")
	cmd.Flags().StringVar(&m.GovernedWhen, "governed-when", "", "SQL `CONDITION` over its columns; rows for which it does not hold are no failures")
	cmd.Flags().StringVar(&m.ResolvedWhen, "resolved-when", "", "SQL `CONDITION` over its columns; rows for which it holds are resolved")
	cmd.Flags().BoolVar(&f.request.NoMirror, "no-mirror", false, "add no columns: its own SQL does not see what the policy decides (with --preset the default)")
	cmd.Flags().BoolVar(&f.plan, "plan", false, "print the plan and change nothing (the default)")
	cmd.Flags().BoolVar(&f.apply, "apply", false, "adopt the table")
	cmd.Flags().BoolVar(&f.detach, "no-wait", false, "with --apply, do not wait for nodes to read the rows that are there")
	command.YesFlag(cmd, &f.yes)
	f.readDatabase = command.SettingFlags(streams, cmd, "database", "database-direct", "adoption-database", "schema-owner")
	f.mirrors = func() bool { return cmd.Flags().Changed("no-mirror") && !f.request.NoMirror }
	return command.Offline(streams, cmd, command.One, f.run)
}

var codeWord = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

func (f *flags) run(ctx context.Context, s *command.Session, args []string) error {
	if f.plan && f.apply {
		return command.Usagef("--plan and --apply are given: expected one of the two")
	}
	if f.request.Preset != "" {
		if _, known := preset.Named(f.request.Preset); !known {
			return command.Usagef("--preset %s: expected one of %s", f.request.Preset, strings.Join(preset.Names(), ", "))
		}
		f.request.NoMirror = !f.mirrors()
	}
	_, options, err := f.readDatabase()
	if err != nil {
		return err
	}
	conn, err := connect(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	f.request.Source, f.request.Path, f.request.SchemaOwner = args[0], conn.Path, conn.owner
	plan, err := f.makePlan(ctx, conn.Conn)
	if err != nil {
		return err
	}
	if !f.apply {
		return show(s, plan)
	}
	if len(plan.Refusals) > 0 {
		return refuse(s, plan)
	}
	return f.do(ctx, s, conn, options.Adoption, plan)
}

// makePlan reads --code as a column if there is one of that name.
func (f *flags) makePlan(ctx context.Context, conn *pgx.Conn) (*define.Plan, error) {
	m := &f.request.Mapping
	if m.Code = f.code; !codeWord.MatchString(f.code) {
		return define.MakePlan(ctx, conn, f.request)
	}
	isColumn, err := define.HasColumn(ctx, conn, f.request, f.code)
	if err != nil {
		return nil, err
	}
	if !isColumn {
		m.Code, m.CodeValue = "", f.code
	}
	return define.MakePlan(ctx, conn, f.request)
}

func (f *flags) do(ctx context.Context, s *command.Session, conn *session, adoption string, plan *define.Plan) error {
	if (plan.Adopted == nil || plan.Moves) && !f.yes {
		if err := s.Askable(f.yes); err != nil {
			return err
		}
		s.Notef("%s", describe(plan, s.Width))
		if err := s.Confirm(fmt.Sprintf("%s will be adopted as %s.", plan.Source, plan.Table.Name), "adopt"); err != nil {
			return err
		}
	}
	if err := runner(s, conn, adoption).Apply(ctx, plan); err != nil {
		return err
	}
	record, err := await(ctx, s, conn.Conn, plan.Facts.OID, f.detach)
	if err != nil {
		return err
	}
	if s.Machine() {
		return s.Print(record.Adoption)
	}
	if record.State == wire.AdoptionGoverned {
		s.Sayf("%s is governed as %s.", plan.Source, record.Table)
	} else {
		s.Sayf("%s is adopted as %s: new rows are governed by running nodes, those that were there before follow.", plan.Source, record.Table)
	}
	return nil
}
