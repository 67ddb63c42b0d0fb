package deadletter

import (
	"context"
	"fmt"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/store"
)

// GroupAct is an act of the workflow on all dead letters of a group that it is the
// turn of.
type GroupAct struct {
	Step    Step
	Preview bool // say what would happen, and do nothing
	Expect  int  // how many the caller has seen in the preview; zero: not checked
}

// GroupResult says what became of it, or in a preview what would.
type GroupResult struct {
	Matched, Applied, NotDone int
	Refused                   []Refused // the first hundred
}

// MaxGroup is the most dead letters of one act on a group.
const MaxGroup = 10_000

// groupStep is how many dead letters one transaction of such an act changes.
const groupStep = 200

// TakeGroup does an act on the open dead letters of a group. First the set is
// fixed, then each is changed under its own lock, in steps.
func (s *Service) TakeGroup(ctx context.Context, c engine.Caller, id recoup.ID, in GroupAct) (GroupResult, error) {
	var f fields
	step := in.Step.clean(&f)
	if err := f.err(); err != nil {
		return GroupResult{}, err
	}
	if _, err := s.Store.Group(ctx, id); err != nil {
		return GroupResult{}, err
	}
	letters, err := s.groupMembers(ctx, id)
	if err != nil {
		return GroupResult{}, err
	}
	if in.Expect > 0 && in.Expect != len(letters) {
		return GroupResult{}, fault.New(fault.CodeConflict, "The group has %d open dead letters now, not %d: preview it again.", len(letters), in.Expect).
			With("matched", len(letters)).With("expected", in.Expect)
	}
	result := GroupResult{Matched: len(letters)}
	for begin := 0; begin < len(letters); begin += groupStep {
		part := letters[begin:min(begin+groupStep, len(letters))]
		if err := s.groupStep(ctx, c.Name, part, step, in.Preview, &result); err != nil {
			return result, fmt.Errorf("after %d of %d: %w", result.Applied+result.NotDone, len(letters), err)
		}
	}
	return result, nil
}

func (s *Service) groupMembers(ctx context.Context, id recoup.ID) (all []store.Letter, err error) {
	page := store.Page{Limit: store.MaxPage}
	for {
		letters, next, err := s.Store.DeadLetters(ctx, store.LetterFilter{Group: id}, page)
		if err != nil {
			return nil, err
		}
		if all = append(all, letters...); len(all) > MaxGroup {
			return nil, fault.New(fault.CodeBusinessRuleViolation, "The group has more than %d open dead letters: take them by a filter, part by part.", MaxGroup)
		}
		if next.IsZero() {
			return all, nil
		}
		page.Cursor = next
	}
}

func (s *Service) groupStep(ctx context.Context, by string, letters []store.Letter, in Step, preview bool, r *GroupResult) error {
	now := s.now()
	decide := s.step(in, by, now)
	outcomes := make([]Done, len(letters))
	if preview {
		for i := range letters {
			_, _, outcomes[i].Err = decide(letters[i])
		}
	} else {
		var err error
		if outcomes, err = s.each(ctx, now, len(letters), func(i int) (store.LetterStep, error) {
			return store.LetterStep{ErrorID: letters[i].Dead.ErrorID, Decide: decide}, nil
		}); err != nil {
			return err
		}
	}
	for i, o := range outcomes {
		if o.Err == nil {
			r.Applied++
			continue
		}
		if r.NotDone++; len(r.Refused) < maxRefused {
			r.Refused = append(r.Refused, Refused{letters[i].Dead.ErrorID, o.Err})
		}
	}
	return nil
}

// NoteGroup says who owns a group and what is known of it. Earlier notes stay.
func (s *Service) NoteGroup(ctx context.Context, c engine.Caller, id recoup.ID, owner, note string) (store.Group, error) {
	var f fields
	f.identifier("owner", owner)
	note = f.text("note", note, maxText)
	f.require("owner or note", owner != "" || note != "")
	if err := f.err(); err != nil {
		return store.Group{}, err
	}
	now := s.now()
	return s.Store.StepGroup(ctx, id, func(g store.Group) (store.Group, []store.Note, error) {
		details := map[string]any{}
		if owner != "" {
			g.Owner, details["owner"] = owner, owner
		}
		if note != "" {
			g.Note = note
		}
		return g, []store.Note{{GroupID: g.ID, Step: "NOTED", Actor: c.Name, At: now, Text: note, Fields: store.EncodeJSON(details)}}, nil
	})
}

// trendDays is how far back the trend of a group goes.
const trendDays = 30

// GroupDetails is a group with its trend and its notes.
type GroupDetails struct {
	store.Group
	Days  []store.DayCount
	Notes []store.Note
}

// Group returns a group with what it gained on each day of the last month.
func (s *Service) Group(ctx context.Context, id recoup.ID) (GroupDetails, error) {
	var d GroupDetails
	var err error
	if d.Group, err = s.Store.Group(ctx, id); err != nil {
		return d, err
	}
	from := s.now().AddDate(0, 0, 1-trendDays).Truncate(24 * time.Hour)
	if d.Days, err = s.Store.GroupDays(ctx, id, from, trendDays+1); err != nil {
		return d, err
	}
	d.Notes, err = s.Store.Notes(ctx, store.Note{GroupID: id}, store.MaxPage)
	return d, err
}

// Details is a dead letter with all that is known of it.
type Details struct {
	store.Letter
	Rounds []store.Round
	Notes  []store.Note
	Items  []store.ReplayItem // of the replays it was in, the last first
}

// Letter returns a dead letter with its rounds, notes and replays.
func (s *Service) Letter(ctx context.Context, id recoup.ID) (Details, error) {
	var d Details
	var err error
	if d.Letter, err = s.Store.DeadLetter(ctx, id); err != nil {
		return d, err
	}
	if d.Rounds, err = s.Store.Rounds(ctx, id, store.MaxPage); err != nil {
		return d, err
	}
	if d.Notes, err = s.Store.Notes(ctx, store.Note{ErrorID: id}, store.MaxPage); err != nil {
		return d, err
	}
	d.Items, err = s.Store.ItemsOf(ctx, id, store.MaxPage)
	return d, err
}
