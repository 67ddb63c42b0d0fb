package errorcmd

import (
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
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// story is the explanation of an error, and of a dead letter the command that
// comes next.
type story struct {
	recoup.Explanation
	Step string `json:"next_step,omitempty"`

	Workers *wire.WorkerQueue `json:"workers,omitempty"` // who claims from its table, while it waits for a retry
}

func explain(streams command.Streams) *cobra.Command {
	return command.ShowID(streams, &cobra.Command{
		Use:   "explain ID",
		Short: "Explain an error: deciding rules, next steps, possible actions",
		Long: `Explains an error: which lines of the policy decided, what happens next by itself, and what a
person can do.`,
		Example: `  recoup errors explain ` + command.AnID,
	}, recoup.ErrorIDs, func(ctx context.Context, s *command.Session, id recoup.ID) (x story, err error) {
		if x.Explanation, err = s.Client.Errors.Explain(ctx, id); err != nil {
			return x, err
		}
		if x.Workers, err = whoClaims(ctx, s, &x.Error); err != nil {
			return x, err
		}
		x.Step, err = nextCommand(ctx, s, &x.Error)
		return x, err
	}, printStory)
}

// whoClaims says who claims from the table of an error that waits for its retry.
func whoClaims(ctx context.Context, s *command.Session, e *recoup.Error) (*wire.WorkerQueue, error) {
	if e.State != recoup.RetryPending {
		return nil, nil
	}
	queues, err := admin.New(s.Client).System.Workers(ctx)
	for i := range queues {
		if queues[i].Table == e.Table {
			return &queues[i], err
		}
	}
	return nil, err
}

// nextCommand is the command that comes next for an error that is a dead letter.
func nextCommand(ctx context.Context, s *command.Session, e *recoup.Error) (string, error) {
	if !e.State.Open() || e.ParkedAt.IsZero() {
		return "", nil // a dead letter is parked from the beginning
	}
	d, err := s.DeadLetters.Get(ctx, e.ID)
	said, refused := errors.AsType[*fault.Error](err)
	switch {
	case refused && (said.Code == fault.CodeNotFound || said.Code == fault.CodeInsufficientPermissions):
		return "", nil // it is none, or not for us to see
	case err != nil:
		return "", err
	case d.Next != "":
		return fmt.Sprintf("recoup dead-letters %s %s", d.Next, e.ID), nil
	case !d.ReplayID.IsZero():
		return fmt.Sprintf("recoup replays show %s", d.ReplayID), nil
	}
	return "", nil
}

func printStory(s *command.Session, p *command.Page, x *story) {
	describe(s.Streams, p, &x.Error)
	p.Heading("DECIDED BY POLICY " + command.Printable(x.Policy))
	rows := [][]string{{"WHAT", "VALUE", "LINE", "WHY"}}
	for _, r := range x.Decided {
		value := r.Value
		if r.Overruled {
			value = "(" + value + ")"
		}
		rows = append(rows, []string{command.Words(r.Field), command.Printable(value), command.Number(r.Line), command.Printable(r.Why)})
	}
	p.Columns(rows...)
	p.Text("A value in brackets was overridden by the next.")
	if x.Refused != "" {
		p.Text(fmt.Sprintf("The database refuses to change this error: %s. Claims and scheduled jobs pass it over, and try it again every few minutes; mend the row or the rule that it breaks.", command.Printable(x.Refused)))
	}
	if x.Newer != "" {
		p.Text(fmt.Sprintf("Policy %s is newer. It applies to this error once it is rebased: 'recoup policy apply FILE --reason TEXT --rebase'.", command.Printable(x.Newer)))
	}
	p.Heading("WHAT HAPPENS NEXT BY ITSELF")
	rows = nil
	for _, d := range x.Next {
		rows = append(rows, []string{s.When(d.At), deadline(d.What, x.Exits)})
	}
	if p.Columns(rows...); len(rows) == 0 {
		p.Text(stands(x.Error.State))
	}
	if x.Workers != nil && x.Workers.Workers == 0 {
		p.Text("But " + s.NobodyClaims(x.Workers) + ".")
	}
	p.Heading("WHAT A PERSON CAN DO")
	switch exits := strings.Join(x.Exits, ", "); {
	case x.Step != "":
		p.Text("It is a dead letter, and leaves by its workflow.")
		p.Columns([]string{"next", command.Printable(x.Step)}, []string{"else", exits})
	case exits != "":
		p.Text(exits)
	default:
		p.Text("Nothing: it has ended.")
	}
}

// deadline says in words what the scheduler does. A table that lets a person park the error
// parks it when its window closes, any other keeps it without retries.
func deadline(what string, exits []string) string {
	switch lifecycle.Kind(what) {
	case lifecycle.Claimed:
		return "due for a retry"
	case lifecycle.LeaseLapsed:
		return "its worker's lease expires, and the attempt counts as failed"
	case lifecycle.WindowClosed:
		if slices.Contains(exits, string(lifecycle.Parking)) {
			return "its retry window closes, and it is parked"
		}
		return "its retry window closes, and it is no longer retried"
	case lifecycle.Escalating:
		return "escalates to the next tier"
	case lifecycle.Reminding:
		return "its owner is reminded"
	case lifecycle.Expiring:
		return "expires and is archived"
	case lifecycle.Archiving:
		return "is archived"
	}
	return command.Words(command.Printable(what))
}

// stands says of an error that no deadline awaits why that is so.
func stands(state recoup.State) string {
	if state.Open() {
		return "Nothing: it stays until somebody acts."
	}
	return "Nothing: it has ended."
}
