package overview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/fault"
	"recoup/internal/cli/command"
	"recoup/internal/policy"
	"recoup/retry"
)

// clearScreen moves a terminal to its top left and empties it.
const clearScreen = "\x1b[H\x1b[2J"

func status(streams command.Streams) *cobra.Command {
	var watch string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how things stand, and what needs a person",
		Long: `Shows on one screen what fires, what is parked and overdue for review, open dead letters, replays,
late jobs, notifications that were given up, the leader and the policy. A line that begins with an
exclamation mark needs a person; then the exit status is 1.`,
		Example: `  recoup status
  recoup status --watch 10s`,
		Args: command.NoArgs,
	}
	cmd.Flags().StringVar(&watch, "watch", "", "show it again every `DURATION`, such as 10s, until interrupted")
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, _ []string) error {
		every, err := interval(watch)
		if err != nil {
			return err
		}
		for {
			found, err := look(ctx, s)
			if err != nil {
				return err
			}
			if err := found.show(s, every > 0); err != nil {
				return err
			}
			if every == 0 {
				return found.end()
			}
			if err := retry.Sleep(ctx, every); err != nil {
				return nil //nolint:nilerr // an interrupt is how watching ends
			}
		}
	})
}

// interval reads how often a screen is shown again; nothing is once.
func interval(given string) (time.Duration, error) {
	if given == "" {
		return 0, nil
	}
	d, err := policy.ParseDuration(given)
	if err != nil || d < time.Second {
		return 0, command.Usagef("--watch %q is not possible: expected a duration of a second or more, such as 10s", given)
	}
	return d, nil
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
}

// look asks the server for everything. What the key may not see is said, and no reason
// to leave out the rest.
func look(ctx context.Context, s *command.Session) (r report, err error) {
	current, err := s.Policy(ctx)
	if err != nil {
		return r, err
	}
	r.Policy = current.Version
	for _, section := range []func(context.Context, *command.Session, *report) (line, error){alerts, parked, deadLetters, replays, jobs, notices} {
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
func (r *report) show(s *command.Session, again bool) error {
	if s.Machine() {
		return s.Print(r)
	}
	var p command.Page
	p.Heading(fmt.Sprintf("STATUS AT %s UTC", command.Stamp(s.Clock())))
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
		if l.Needs && l.Way != "" {
			ways = append(ways, l.Way)
		}
	}
	if len(ways) > 0 {
		p.Heading("LOOK AT IT WITH")
		p.List(ways)
	}
	if again && s.Width > 0 {
		fmt.Fprint(s.Out, clearScreen)
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
