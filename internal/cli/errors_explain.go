package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
	"recoup/fault"
	"recoup/internal/lifecycle"
)

func errorsExplain(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain ID",
		Short:   "Explain which rules decided, what happens next and what a person can do",
		Example: `  recoup errors explain 0198c0de-0000-7000-8000-000000000001`,
		Args:    exactArgs("ID"),
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		var x errorStory
		if x.Explanation, err = s.Explain(ctx, id); err != nil {
			return err
		}
		if x.Step, err = s.workflowStep(ctx, &x.Error); err != nil {
			return err
		}
		if s.json {
			return printJSON(s.Out, x)
		}
		fmt.Fprint(s.Out, s.explained(&x))
		return nil
	})
}

// errorStory is the explanation of an error, and of a dead letter the command that
// comes next.
type errorStory struct {
	client.Explanation
	Step string `json:"next_step,omitempty"`
}

// workflowStep is the command that comes next for an error that is a dead letter.
func (s *session) workflowStep(ctx context.Context, e *recoup.Error) (string, error) {
	if !e.State.Open() || e.ParkedAt.IsZero() {
		return "", nil // a dead letter is parked from the beginning
	}
	d, err := s.DeadLetter(ctx, e.ID)
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

func (s *session) explained(x *errorStory) string {
	var p page
	s.describe(&p, &x.Error)
	p.heading("DECIDED BY POLICY " + printable(x.Policy))
	rows := [][]string{{"WHAT", "VALUE", "LINE", "WHY"}}
	for _, r := range x.Decided {
		value := r.Value
		if r.Overruled {
			value = "(" + value + ")"
		}
		rows = append(rows, []string{words(r.Field), printable(value), number(r.Line), printable(r.Why)})
	}
	p.columns(rows...)
	p.text("A value in brackets was overruled by the next.")
	if x.Newer != "" {
		p.text(fmt.Sprintf("Policy %s is newer. It applies to this error once it is rebased: 'recoup policy apply FILE --rebase'.", printable(x.Newer)))
	}
	p.heading("WHAT HAPPENS NEXT BY ITSELF")
	rows = nil
	for _, d := range x.Next {
		rows = append(rows, []string{s.when(d.At), deadline(d.What)})
	}
	if len(rows) == 0 {
		p.text(stands(x.Error.State))
	} else {
		p.columns(rows...)
	}
	p.heading("WHAT A PERSON CAN DO")
	switch exits := strings.Join(x.Exits, ", "); {
	case x.Step != "":
		p.text("It is a dead letter, and leaves by its workflow.")
		p.columns([]string{"next", printable(x.Step)}, []string{"else", exits})
	case exits != "":
		p.text(exits)
	default:
		p.text("Nothing: it has ended.")
	}
	return p.String()
}

// deadline says in words what the clock does.
func deadline(what string) string {
	switch lifecycle.Kind(what) {
	case lifecycle.Claimed:
		return "due to be retried"
	case lifecycle.LeaseLapsed:
		return "its worker's lease ends, and the attempt counts as failed"
	case lifecycle.WindowClosed:
		return "its retry window closes, and it is parked"
	case lifecycle.Escalating:
		return "moves up to the next tier"
	case lifecycle.Reminding:
		return "its owner is reminded of it"
	case lifecycle.Expiring:
		return "expires and is archived"
	case lifecycle.Archiving:
		return "moved to the archive"
	}
	return words(printable(what))
}

// stands says of an error that no deadline awaits why that is so.
func stands(state recoup.State) string {
	if state.Open() {
		return "Nothing: it stays until somebody acts."
	}
	return "Nothing: it has ended."
}
