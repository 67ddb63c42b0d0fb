package deadletters

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// target is what an act is about: one dead letter, or a group of them.
type target struct {
	group       string
	dryRun, yes bool
}

func (t *target) add(cmd *cobra.Command) {
	cmd.Args = command.AtMost(1)
	cmd.Flags().StringVar(&t.group, "group", "", "all open dead letters of the group with this `ID`, instead of one")
	cmd.Flags().BoolVar(&t.dryRun, "dry-run", false, "with --group: preview what would change, and change nothing")
	command.YesFlag(cmd, &t.yes)
}

// id reads the id of the dead letter, or of the group.
func (t *target) id(s *command.Session, args []string) (recoup.ID, error) {
	switch {
	case (len(args) == 1) == (t.group != ""):
		return recoup.ID{}, command.Usagef("expected the ID of a dead letter, or --group ID")
	case t.group != "":
		return groupID(s, t.group)
	}
	return s.ID(recoup.DeadLetterIDs, args)
}

// act does an act on whatever was asked for.
func (t *target) act(s *command.Session, args []string, past string,
	one func(recoup.ID) (recoup.DeadLetter, error), all func(recoup.ID, recoup.ForGroup) (recoup.BulkResult, error)) error {
	id, err := t.id(s, args)
	if err != nil {
		return err
	}
	if t.group != "" {
		return t.actAll(s, id, past, all)
	}
	d, err := one(id)
	switch {
	case err != nil:
		return err
	case s.Machine():
		return s.Print(d)
	}
	next := "."
	if d.Next != "" {
		next = "; next: " + d.Next + "."
	}
	s.Sayf("%s %s%s", d.ErrorID, past, next)
	return nil
}

// actAll previews what would happen to a group, and asks for a confirmation.
func (t *target) actAll(s *command.Session, id recoup.ID, past string, all func(recoup.ID, recoup.ForGroup) (recoup.BulkResult, error)) error {
	if err := s.Askable(t.yes || t.dryRun); err != nil {
		return err
	}
	done, err := all(id, recoup.ForGroup{Preview: true})
	if err != nil {
		return err
	}
	if !t.dryRun && done.Applied > 0 {
		if !t.yes {
			if err := s.Confirm(fmt.Sprintf("%s of %d would be %s.", command.Count(done.Applied, "dead letter"), done.Matched, past), fmt.Sprint(done.Applied)); err != nil {
				return err
			}
		}
		if done, err = all(id, recoup.ForGroup{Token: done.Token}); err != nil {
			return err
		}
	}
	if s.Machine() {
		return s.Print(done)
	}
	if done.Preview {
		past = "would be " + past
	}
	s.Sayf("%s of %d %s.", command.Count(done.Applied, "dead letter"), done.Matched, past)
	for _, r := range done.Refused {
		s.Notef("%s: %s", r.ID, command.Printable(r.Reason))
	}
	if done.Applied == 0 {
		return command.ErrSilent
	}
	return nil
}
