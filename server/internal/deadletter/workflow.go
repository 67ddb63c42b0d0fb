package deadletter

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// The acts of the workflow (spec 002, 8.5), in their order.
const (
	ActTriage    = "triage"
	ActRemediate = "remediate"
	ActValidate  = "validate"
	ActReplay    = "replay"
	ActVerify    = "verify"
)

// workflow is the order of the acts, and how far each takes a dead letter.
var workflow = []struct {
	act string
	to  recoup.WorkflowStep
}{
	{ActTriage, recoup.StepTriaged},
	{ActRemediate, recoup.StepRemediated},
	{ActValidate, recoup.StepValidated},
	{ActReplay, recoup.StepReplayed},
	{ActVerify, recoup.StepVerified},
}

// done is how many acts of the workflow a dead letter has behind it.
func done(step recoup.WorkflowStep) int {
	for i, w := range workflow {
		if w.to == step {
			return i + 1
		}
	}
	if step == recoup.StepReplaying {
		return done(recoup.StepValidated)
	}
	return 0
}

// NextAct is the act that a dead letter waits for; it is empty while a replay is
// under way, and when it is closed.
func NextAct(d *recoup.DeadLetter) string {
	if n := done(d.Step); d.Open() && d.Step != recoup.StepReplaying && n < len(workflow) {
		return workflow[n].act
	}
	return ""
}

// may reports whether it is the turn of an act. An act can be done anew as long as
// nothing is replayed, which takes the workflow back to it; a skipped one is named.
func may(l *store.StagedWork, act string) error {
	d, at := &l.Dead, 0
	for i, w := range workflow {
		if w.act == act {
			at = i
		}
	}
	refuse := func(format string, args ...any) *fault.Error {
		return fault.New(fault.CodeInvalidTransition, format, args...).With("input", act).With("step", string(d.Step))
	}
	behind := done(d.Step)
	switch {
	case !l.Error.ArchivedAt.IsZero():
		return refuse("It is archived: an archived dead letter can no longer be replayed.").With("reason", "ARCHIVED")
	case !d.Open():
		return refuse("It is closed.").With("reason", "CLOSED")
	case d.Step == recoup.StepReplaying && act == ActVerify:
		return refuse("Its replay has brought no result yet.").With("missing_step", ActReplay).With("reason", "REPLAYING").With("replay_id", l.Item.ReplayID.String())
	case d.Step == recoup.StepReplaying:
		return refuse("It is part of a replay, whose result comes first.").With("reason", "REPLAYING").With("replay_id", l.Item.ReplayID.String())
	case behind < at:
		return refuse("Before that it must pass another step: %s.", workflow[behind].act).With("missing_step", workflow[behind].act).With("reason", "MISSING_STEP")
	case d.Step == recoup.StepReplayed && act != ActVerify:
		return refuse("Its replay worked: verify it, or say that it did not.").With("reason", "REPLAYED").With("exits", []string{ActVerify})
	}
	return nil
}

// Action is an act of a person in the workflow.
type Action interface {
	act() string

	// clean checks and redacts what the person wrote.
	clean(f *check.Fields) Action

	// take changes the dead letter, and returns the additional fields of its note. It
	// refuses what the cause of the dead letter does not allow.
	take(l *store.StagedWork, f *check.Fields) (fields map[string]any)

	// said is what the person wrote, and the ticket or incident it is about.
	said() (note, link string)
}

// step decides an act of a person on a dead letter.
func (s *Service) step(in Action, by string) store.DecideStaged {
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		var effects store.StagedEffects
		if err := may(&l, in.act()); err != nil {
			return l, effects, err
		}
		var f check.Fields
		details := in.take(&l, &f)
		if err := f.Err(); err != nil {
			return l, effects, err
		}
		l.Dead.UpdatedAt = now
		note, link := in.said()
		effects.Notes = []recoup.Note{{
			ErrorID: l.Dead.ErrorID, Round: l.Dead.Round, Step: l.Dead.Step, Actor: by, At: now,
			Text: note, Link: link, Fields: recoup.EncodeJSON(details),
		}}
		var seen lifecycle.Input = lifecycle.Review{By: by, Reason: in.act()}
		if l.Dead.Step == recoup.StepVerified {
			l.Dead.ClosedAt, seen = now, lifecycle.Verify{By: by, Reason: note}
		}
		return l, effects, s.move(&l, &effects, seen, now)
	}
}

// move applies an input to the error of a dead letter.
func (s *Service) move(l *store.StagedWork, effects *store.StagedEffects, in lifecycle.Input, now time.Time) (err error) {
	l.Error, effects.Effects, err = lifecycle.Step(s.Policies.Of(&l.Error), &l.Error, in, now)
	return err
}
