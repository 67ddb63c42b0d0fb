package errorcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// watchEvery is how often an operation is looked at that somebody waits for.
const watchEvery = 500 * time.Millisecond

// recorded acts on more errors than these commands take themselves: the server freezes the
// set, and carries the act out once it is confirmed.
func (a *act) recorded(ctx context.Context, s *command.Session, f recoup.ErrorFilter) error {
	o, err := s.Operations.Create(ctx, recoup.NewOperation{Act: a.kind.Name, Filter: f, All: f == recoup.ErrorFilter{}, Input: a.Act})
	if err != nil {
		return err
	}
	question := fmt.Sprintf("%s %s?", command.Capital(string(a.kind.Name)), command.Count(o.Pending(), "error"))
	if a.dryRun || o.Pending() == 0 {
		frozen, err := s.Operations.Cancel(ctx, o.ID, "a preview")
		if err != nil {
			return err
		}
		return a.recordedEnd(s, &frozen)
	}
	if !a.yes {
		s.Notef("%s %s", o.ID, operationLine(&o.Operation))
		if err := s.Confirm(question, fmt.Sprint(o.Pending())); err != nil {
			return err
		}
	}
	if _, err := s.Operations.Confirm(ctx, o.ID, a.Act); err != nil {
		return err
	}
	return a.watch(ctx, s, o.ID)
}

// watch shows the progress of an operation until it has ended or is paused. Whoever stops
// watching does not stop it.
func (a *act) watch(ctx context.Context, s *command.Session, id recoup.ID) error {
	advance, end := s.ShowProgress(string(a.kind.Name))
	defer end()
	for {
		o, err := s.Operations.Get(ctx, id)
		if err != nil {
			return err
		}
		if o.Over() || o.State == recoup.OperationPaused {
			end()
			return a.recordedEnd(s, &o)
		}
		advance(o.Applied+o.Refused, o.Members)
		if err := retry.Sleep(ctx, watchEvery); err != nil {
			return fmt.Errorf("the operation goes on: recoup operations show %s: %w", id, err)
		}
	}
}

// recordedEnd says how an operation ended. The exit status is that of the same act on
// fewer errors.
func (a *act) recordedEnd(s *command.Session, o *recoup.Operation) error {
	if s.Machine() {
		if err := s.Print(o); err != nil {
			return err
		}
	} else {
		s.Sayf("%s %s", o.ID, operationLine(o))
	}
	if !a.dryRun && (o.State != recoup.OperationDone || o.Refused > 0) {
		return command.ErrSilent
	}
	return nil
}
