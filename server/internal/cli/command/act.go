package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// Show makes cmd a command that prints one thing.
func Show[T any](streams Streams, cmd *cobra.Command, fetch func(ctx context.Context, s *Session, args []string) (T, error),
	describe func(s *Session, p *Page, t *T)) *cobra.Command {
	return OnServer(streams, cmd, One, func(ctx context.Context, s *Session, args []string) error {
		found, err := fetch(ctx, s, args)
		switch {
		case err != nil:
			return err
		case s.Machine():
			return s.Print(found)
		}
		p := Page{Width: s.Width}
		describe(s, &p, &found)
		fmt.Fprint(s.Out, p.String())
		return nil
	})
}

// ShowID is [Show] of a thing of a kind that has an id, which is the argument.
func ShowID[T any](streams Streams, cmd *cobra.Command, kind recoup.IDKind, fetch func(ctx context.Context, s *Session, id recoup.ID) (T, error),
	describe func(s *Session, p *Page, t *T)) *cobra.Command {
	cmd.Args = ExactArgs("ID")
	return Show(streams, cmd, func(ctx context.Context, s *Session, args []string) (found T, err error) {
		id, err := s.ID(kind, args)
		if err != nil {
			return found, err
		}
		return fetch(ctx, s, id)
	}, describe)
}

// Act is a command that changes something and says what became of it.
type Act[R any] struct {
	Reason *string // where --reason goes; nil: there is no such flag
	Need   bool    // it must be given

	// Check says what is wrong with the flags, before anything is asked or sent.
	Check func(s *Session, args []string) error

	// Ask returns what a person has to confirm, and how, for what cannot be undone; nil:
	// nothing. It adds --yes.
	Ask func(args []string) (question, answer string)

	Call   func(ctx context.Context, s *Session, args []string) (R, error)
	Say    func(s *Session, r R)
	Failed func(r R) bool // whether the exit status is 1; nil: it never is

	On Runner // default OnServer
}

// ForReason is a call of the client that acts on one thing by its id, for a reason.
type ForReason[R any] func(ctx context.Context, id recoup.ID, reason string, options ...client.CallOption) (R, error)

// Verb is an act on one thing by its id, for a reason that must be given.
type Verb[R any] struct {
	Of                recoup.IDKind // what the id is of, as the commands are called
	Name, Past, Short string
	Do                func(*client.Client) ForReason[R]
	Line              func(*R) string // where it stands afterwards
}

// Command is the verb as a command.
func (v Verb[R]) Command(streams Streams) *cobra.Command {
	var reason string
	var id recoup.ID
	return Act[R]{
		Reason: &reason, Need: true,
		Check: func(s *Session, args []string) (err error) {
			id, err = s.ID(v.Of, args)
			return err
		},
		Call: func(ctx context.Context, s *Session, _ []string) (R, error) { return v.Do(s.Client)(ctx, id, reason) },
		Say:  func(s *Session, r R) { s.Sayf("%s %s; %s", id, v.Past, v.Line(&r)) },
	}.Command(streams, &cobra.Command{
		Use:     v.Name + " ID",
		Short:   v.Short,
		Example: fmt.Sprintf("  recoup %s %s %s --reason \"look first\"", v.Of, v.Name, AnID),
		Args:    ExactArgs("ID"),
	})
}

// ReasonFlag adds the flag for the reason of an act.
func ReasonFlag(cmd *cobra.Command, reason *string, need bool) {
	help := "why, as `TEXT` for the audit"
	if need {
		help += "; required"
	}
	cmd.Flags().StringVar(reason, "reason", "", help)
}

// YesFlag adds the flag that answers a confirmation beforehand.
func YesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "skip the confirmation, for scripts")
}

// NeedReason refuses an act without a reason.
func NeedReason(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return Usagef("--reason is missing: expected why, for the audit")
	}
	return nil
}

// Command makes cmd the command that acts.
func (a Act[R]) Command(streams Streams, cmd *cobra.Command) *cobra.Command {
	var yes bool
	if a.Reason != nil {
		ReasonFlag(cmd, a.Reason, a.Need)
	}
	if a.Ask != nil {
		YesFlag(cmd, &yes)
	}
	if cmd.Args == nil {
		cmd.Args = NoArgs
	}
	on := a.On
	if on == nil {
		on = OnServer
	}
	return on(streams, cmd, One, func(ctx context.Context, s *Session, args []string) error {
		if err := a.ready(s, args, yes); err != nil {
			return err
		}
		done, err := a.Call(ctx, s, args)
		switch {
		case err != nil:
			return err
		case s.Machine():
			err = s.Print(done)
		default:
			a.Say(s, done)
		}
		if err == nil && a.Failed != nil && a.Failed(done) {
			return ErrSilent
		}
		return err
	})
}

// ready checks the flags, and asks for a confirmation.
func (a *Act[R]) ready(s *Session, args []string, yes bool) error {
	if a.Check != nil {
		if err := a.Check(s, args); err != nil {
			return err
		}
	}
	if a.Reason != nil && a.Need {
		if err := NeedReason(*a.Reason); err != nil {
			return err
		}
	}
	if a.Ask == nil || yes {
		return nil
	}
	if err := s.Askable(false); err != nil {
		return err
	}
	return s.Confirm(a.Ask(args))
}
