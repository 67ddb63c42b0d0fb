package errorcmd

import (
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// result is an outcome as programs read it.
type result struct {
	recoup.BulkResult
	Operation recoup.ID             `json:"operation_id,omitzero"`
	State     recoup.OperationState `json:"state,omitempty"` // of the operation
}

// show prints what became of many errors. What was done before a failure is said
// before the failure is.
func (a *act) show(s *command.Session, o outcome) error {
	if o.err != nil {
		if o.Applied > 0 && !o.Preview {
			s.Notef("%s %s before it failed:", command.Count(o.Applied, "error"), a.kind.Past)
		}
		return o.err
	}
	all := result{BulkResult: o.BulkResult}
	if o.operation != nil && !o.Preview {
		all.Operation, all.State = o.operation.ID, o.operation.State
	}
	if s.Machine() {
		if err := s.Print(all); err != nil {
			return err
		}
	} else {
		a.print(s, o.BulkResult)
	}
	stopped := all.State == recoup.OperationPaused || all.State == recoup.OperationCancelled
	switch {
	case o.Preview || !stopped && o.NotDone == 0:
		return nil
	case o.operation != nil:
		s.Notef("%s %s", all.Operation, operationLine(o.operation))
	}
	return command.ErrSilent
}

// print says how many were done and why others were not. A preview that is
// followed by the act itself is a message and not yet a result.
func (a *act) print(s *command.Session, r recoup.BulkResult) {
	w := s.Out
	past, left := a.kind.Past, "were not"
	if r.Preview {
		past, left = "would be "+past, "would not be"
		if !a.dryRun {
			w = s.Err
		}
	}
	if r.Matched == 0 {
		s.Notef("No error matches.")
		return
	}
	fmt.Fprintf(w, "%d of %s %s.\n", r.Applied, command.Count(r.Matched, "error"), past)
	if r.NotDone > 0 {
		fmt.Fprintf(s.Err, "%d %s:\n%s", r.NotDone, left, refusals(s.Streams, r))
	}
}

// refusals lists why errors were left alone, with some of those for each reason.
func refusals(s command.Streams, r recoup.BulkResult) *command.Table {
	ids := map[string][]recoup.ID{}
	var reasons []string
	for _, refused := range r.Refused {
		if len(ids[refused.Reason]) == 0 {
			reasons = append(reasons, refused.Reason)
		}
		ids[refused.Reason] = append(ids[refused.Reason], refused.ID)
	}
	t := command.NewTable(s, command.Column{Name: "ERRORS"}, command.Column{Name: "REASON", Wrap: true}, command.Column{Name: "WHICH", Drop: 1})
	for _, reason := range reasons {
		t.Add(len(ids[reason]), reason, command.SomeIDs(ids[reason], len(ids[reason])))
	}
	if rest := r.NotDone - len(r.Refused); rest > 0 {
		t.Add(rest, "not listed", "")
	}
	return t
}
