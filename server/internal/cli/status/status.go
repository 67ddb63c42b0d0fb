package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func status(streams command.Streams) *cobra.Command {
	var watch command.Watch
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the current state, and what needs a person",
		Long: `Shows on one screen what fires, what is parked and overdue for review, which deadlines of
parked errors will be missed at the present pace, what is due and claimed by nobody, when
queues are empty, open dead letters, replays, bulk operations, late jobs, notifications
that were given up, channels that fail, tables whose names something else has in the
database, the leader and the policy. A line that begins with an exclamation mark needs a
person; then the exit status is 1.`,
		Example: `  recoup status
  recoup status --watch 10s`,
		Args: command.NoArgs,
	}
	watch.Add(cmd)
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, _ []string) error {
		var found report
		err := watch.Run(ctx, s, func() (err error) {
			if found, err = look(ctx, s); err == nil {
				err = found.show(s)
			}
			return err
		})
		if err != nil || watch.On() {
			return err
		}
		return found.end()
	})
}

// line is one thing that an operator looks at.
type line struct {
	What   string `json:"what"`
	State  string `json:"state"`
	Needs  bool   `json:"needs_a_person"`
	Detail string `json:"detail,omitempty"`
	Way    string `json:"command,omitempty"` // that shows more
}

// report is how things stand.
type report struct {
	Policy string `json:"policy"`
	Leader string `json:"leader,omitempty"`
	Needs  bool   `json:"needs_a_person"`
	Lines  []line `json:"lines"`

	outlook *wire.Forecast // asked for once
}

// look asks the server for everything. What the key may not see is said, and no reason
// to leave out the rest.
func look(ctx context.Context, s *command.Session) (r report, err error) {
	current, err := admin.New(s.Client).Policy.Current(ctx)
	if err != nil {
		return r, err
	}
	r.Policy = current.Version
	for _, section := range []func(context.Context, *command.Session, *report) (line, error){alerts, parked, deadlines, claiming, pace, deadLetters, replays, operations, jobs, notices, channels, tables, adoptions} {
		l, err := section(ctx, s, &r)
		if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Code == fault.CodeInsufficientPermissions {
			l.State, l.Detail = "unknown", "the key may not see it"
		} else if err != nil {
			return r, err
		}
		r.Lines = append(r.Lines, l)
		r.Needs = r.Needs || l.Needs
	}
	return r, nil
}

// show prints the screen.
func (r *report) show(s *command.Session) error {
	if s.Machine() {
		return s.Print(r)
	}
	p := command.Page{Width: s.Width}
	p.Heading(fmt.Sprintf("STATUS AT %s UTC", stream.Stamp(s.Clock())))
	p.Text(fmt.Sprintf("policy %s, leader %s", command.Printable(r.Policy), cmp.Or(command.Printable(r.Leader), "unknown")))
	p.Heading("WHAT NEEDS A PERSON")
	rows := [][]string{}
	for _, l := range r.Lines {
		mark := " "
		if l.Needs {
			mark = "!"
		}
		rows = append(rows, []string{mark + " " + l.What, l.State, cmp.Or(l.Detail, "-")})
	}
	p.Columns(rows...)
	var ways []string
	for _, l := range r.Lines {
		if l.Needs && l.Way != "" && !slices.Contains(ways, l.Way) {
			ways = append(ways, l.Way)
		}
	}
	if len(ways) > 0 {
		p.Heading("LOOK AT IT WITH")
		p.List(ways)
	}
	fmt.Fprint(s.Out, p.String())
	return nil
}

// end is how the command ends.
func (r *report) end() error {
	if r.Needs {
		return command.ErrSilent
	}
	return nil
}

// some writes a number of things, and the first few of them.
func some[T any](list []T, name func(*T) string) string {
	const most = 3
	var names []string
	for i := range list[:min(len(list), most)] {
		names = append(names, command.Printable(name(&list[i])))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("%d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}

// waiting are the states in which an error waits for a person.
func waiting(s recoup.State) bool { return s == recoup.Parked || s == recoup.Escalated }
