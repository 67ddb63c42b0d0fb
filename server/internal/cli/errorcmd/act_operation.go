package errorcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

const (
	// watchEvery is how often an operation is looked at that somebody waits for.
	watchEvery = 500 * time.Millisecond

	// shownRefused is how many refused errors of an operation are fetched.
	shownRefused = 100
)

// filtered acts on the errors that a filter selects now, by an operation: the server
// freezes the set, and acts on exactly these errors once that is confirmed. What changes
// before the act is left alone and reported.
func (a *act) filtered(ctx context.Context, s *command.Session, f recoup.ErrorFilter) error {
	if err := s.Askable(a.yes || a.dryRun); err != nil {
		return err
	}
	first, err := s.Errors.List(ctx, f, client.Page{Limit: 1})
	switch {
	case err != nil:
		return err
	case len(first.Errors) == 0:
		return a.show(s, outcome{BulkResult: recoup.BulkResult{Preview: a.dryRun}})
	}
	frozen, err := s.Operations.Create(ctx, recoup.NewOperation{Act: a.kind.Name, Filter: f, All: f == recoup.ErrorFilter{}, Input: a.Act})
	if err != nil {
		return err
	}
	agreed, err := a.agreed(ctx, s, &frozen.Operation)
	if err != nil || !agreed {
		return err
	}
	if _, err := s.Operations.Confirm(ctx, frozen.ID, a.Act); err != nil {
		return err
	}
	o, err := a.watch(ctx, s, frozen.ID)
	if err != nil {
		return err
	}
	return a.show(s, a.outcomeOf(ctx, s, &o, false))
}

// agreed shows what an operation would change and reports whether it is to be carried out.
// One that is not is cancelled.
func (a *act) agreed(ctx context.Context, s *command.Session, o *recoup.Operation) (bool, error) {
	preview := a.outcomeOf(ctx, s, o, true)
	switch {
	case preview.err != nil:
		return false, preview.err
	case a.dryRun:
		return false, a.cancelled(ctx, s, o, "dry run", a.show(s, preview))
	case o.Pending() == 0 && a.yes:
		return false, a.cancelled(ctx, s, o, "applies to no error", a.show(s, a.outcomeOf(ctx, s, o, false)))
	case a.yes:
		return true, nil
	}
	a.print(s, preview.BulkResult)
	if o.Pending() == 0 {
		return false, a.cancelled(ctx, s, o, "applies to no error", command.ErrSilent)
	}
	question := fmt.Sprintf("%s %s?", command.Capital(string(a.kind.Name)), command.Count(o.Pending(), "error"))
	if err := s.Confirm(question, fmt.Sprint(o.Pending())); err != nil {
		return false, a.cancelled(ctx, s, o, "not confirmed", err)
	}
	return true, nil
}

// cancelled cancels an operation that is not confirmed, and returns how the command ends. If the
// cancellation fails, the operation expires.
func (a *act) cancelled(ctx context.Context, s *command.Session, o *recoup.Operation, reason string, end error) error {
	if _, err := s.Operations.Cancel(ctx, o.ID, reason); err != nil && end == nil {
		return err
	}
	return end
}

// watch shows the progress of an operation until it has ended or is paused. Ending the
// command does not stop the operation.
func (a *act) watch(ctx context.Context, s *command.Session, id recoup.ID) (recoup.Operation, error) {
	advance, end := s.ShowProgress(string(a.kind.Name))
	defer end()
	for {
		o, err := s.Operations.Get(ctx, id)
		if err != nil || o.Over() || o.State == recoup.OperationPaused {
			return o, err
		}
		advance(o.Applied+o.Refused, o.Members)
		if err := retry.Sleep(ctx, watchEvery); err != nil {
			return o, fmt.Errorf("the operation goes on: recoup operations show %s: %w", id, err)
		}
	}
}

// outcomeOf returns the results of the members of an operation, or those of its preview, with the
// first members that were refused.
func (a *act) outcomeOf(ctx context.Context, s *command.Session, o *recoup.Operation, preview bool) outcome {
	sum := outcome{operation: o, BulkResult: recoup.BulkResult{Preview: preview, Matched: o.Members, Applied: o.Applied, NotDone: o.Refused}}
	if preview {
		sum.Applied = o.Pending()
	}
	if o.Refused == 0 {
		return sum
	}
	items, err := s.Operations.Items(ctx, o.ID, string(recoup.ResultRefused), 0, shownRefused)
	if err != nil {
		sum.err = err
		return sum
	}
	for _, item := range items.Items {
		sum.Refused = append(sum.Refused, recoup.Refused{ID: item.ErrorID, Reason: item.Reason})
	}
	return sum
}
