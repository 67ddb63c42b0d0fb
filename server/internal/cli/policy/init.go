package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// initial is how a policy begins, as the flags say.
type initial struct {
	policy.Start
	example string
	force   bool
	from    command.PolicyFlags
}

// Init is 'recoup init'.
func Init(streams command.Streams) *cobra.Command {
	var ask initial
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a first policy for your own tables",
		Long: `Writes a commented policy to FILE, policy.yaml if none is named. On a terminal it asks what it
needs to know: where failures are reported, who owns them, what they hold up and where to notify.
In scripts the flags say it.

With --server it writes the policy in force there instead, and with --example spec the one that
governs the tables of Recoup's specification. A file that exists is not replaced without --force.`,
		Example: `  recoup init --table payments.capture_errors --entity order_id
  recoup init mine.yaml --server http://127.0.0.1:8080`,
		Args: command.AtMost(1),
	}
	cmd.Flags().StringVar(&ask.Table, "table", "", "error `TABLE` with its schema, such as payments.capture_errors")
	cmd.Flags().StringVar(&ask.Team, "team", "", "`TEAM` that owns its errors (default: named after the schema)")
	cmd.Flags().StringVar(&ask.Entity, "entity", "", "`COLUMN` that names what an error holds up, such as order_id (default: nothing)")
	cmd.Flags().StringVar(&ask.Channel, "notify", "", "`CHANNEL` where owners are notified (default: log)")
	cmd.Flags().StringVar(&ask.example, "example", "", "write this `EXAMPLE` instead: "+strings.Join(policy.Examples(), ", "))
	cmd.Flags().BoolVar(&ask.force, "force", false, "replace FILE if it exists")
	ask.from.Add(cmd)
	command.Offline(streams, cmd, nil, func(ctx context.Context, s *command.Session, args []string) error {
		ask.File = cmp.Or(strings.Join(args, ""), "policy.yaml")
		if _, err := os.Stat(ask.File); err == nil && !ask.force {
			return ask.taken()
		}
		if cmd.Flags().Changed("server") {
			if err := ask.from.Load(ctx, s, cmd, args); err != nil {
				return err
			}
		}
		text, err := ask.text(s)
		if err != nil {
			return err
		}
		if err := ask.write(text); err != nil {
			return err
		}
		ask.goOn(s)
		return nil
	})
	for _, name := range []string{"json", "policy"} {
		cmd.Flags().Lookup(name).Hidden = true
	}
	return cmd
}

// taken refuses to write over what is there.
func (a *initial) taken() error {
	return fmt.Errorf("%s exists already: name another file, or replace it with --force", a.File)
}

// text is what is to be written.
func (a *initial) text(s *command.Session) ([]byte, error) {
	switch {
	case (a.example != "" || a.from.Policy != nil) && a.Table+a.Team+a.Entity+a.Channel != "":
		return nil, command.Usagef("--table, --team, --entity and --notify are for a new policy: expected neither --example nor --server beside them")
	case a.example != "":
		text, ok := policy.Example(a.example)
		if !ok {
			return nil, command.Usagef("unknown example %q: expected %s", a.example, strings.Join(policy.Examples(), ", "))
		}
		return text, nil
	case a.from.Policy != nil:
		return []byte(a.from.Policy.Text()), nil
	case a.Table == "" && !s.Interactive:
		return nil, command.Usagef("--table is missing: expected an error table such as payments.capture_errors")
	case a.Table == "":
		if err := a.questions(s); err != nil {
			return nil, err
		}
	}
	text, err := policy.Starter(a.Start)
	if err != nil {
		return nil, command.UsageError{Err: err}
	}
	return text, nil
}

// questions asks what the flags do not say, each until the answer can be used. What they
// do say is checked first.
func (a *initial) questions(s *command.Session) error {
	said := policy.Start{Table: "a.b", Team: a.Team, Entity: a.Entity, Channel: a.Channel}
	if err := said.Check(); err != nil {
		return command.UsageError{Err: err}
	}
	for _, q := range []struct {
		question string
		into     *string
		kept     *string
	}{
		{"What fails? The table that its errors are kept in, with its schema [app.errors]: ", &said.Table, &a.Table},
		{"Who owns the errors? A team [named after the schema]: ", &said.Team, &a.Team},
		{"What may an error hold up? The column that names it, such as order_id [nothing]: ", &said.Entity, &a.Entity},
		{"Where are owners notified? The name of a channel [log]: ", &said.Channel, &a.Channel},
	} {
		for *q.kept == "" {
			var err error
			if *q.into, err = s.Answer(q.question); err != nil {
				return a.endOfInput()
			}
			if q.into == &said.Table {
				said.Table = cmp.Or(said.Table, "app.errors")
			}
			if err := said.Check(); err != nil {
				s.Notef("%v", err)
				continue
			}
			*q.kept = *q.into
			break
		}
	}
	return nil
}

// endOfInput refuses to take answers for granted that nobody gave, and says how to go on
// with those that somebody did.
func (a *initial) endOfInput() error {
	command := "recoup init " + a.File + " --table " + cmp.Or(a.Table, "SCHEMA.TABLE")
	for _, f := range []struct{ flag, value string }{{"team", a.Team}, {"entity", a.Entity}, {"notify", a.Channel}} {
		if f.value != "" {
			command += fmt.Sprintf(" --%s %q", f.flag, f.value)
		}
	}
	return fmt.Errorf("the input has ended, and nothing was written: answer each question, with an empty line for the value in brackets, or give the answers as flags: %s", command)
}

// write writes the file, and never over one that is there unless it may.
func (a *initial) write(text []byte) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if a.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(a.File, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return a.taken()
	}
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// goOn says what was written and what comes next.
func (a *initial) goOn(s *command.Session) {
	s.Sayf("%s is written. Read it, and go on with:\n", a.File)
	s.Sayf("  recoup policy check %s", a.File)
	s.Sayf("  recoup serve --policy %s", a.File)
	if a.Table == "" {
		return
	}
	entity := ""
	if a.Entity != "" {
		entity = " --entity 1"
	}
	s.Sayf("  recoup report --table %s%s --code %s --message test", a.Table, entity, a.Code())
}
