package deadletter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// MaxGroup is the most dead letters of one act on a group.
const MaxGroup = 10_000

// groupChunk is how many dead letters one transaction of such an act changes.
const groupChunk = 200

// TakeGroup applies an act to the open dead letters of a group that wait for it. First
// the set is fixed, then each is changed under its own lock, in chunks.
func (s *Service) TakeGroup(ctx context.Context, c engine.Caller, id recoup.ID, action Action, how recoup.ForGroup) (recoup.BulkResult, error) {
	if err := s.checkAction(&action); err != nil {
		return recoup.BulkResult{}, err
	}
	group, err := s.Store.Group(ctx, id)
	if err == nil {
		err = s.visible(c, group.Pipeline)
	}
	if err != nil {
		return recoup.BulkResult{}, err
	}
	if triage, ok := action.(Triage); ok { // the same for all, so it is reported once
		var f check.Fields
		triage.confirms(&f, group.Stage, group.Class)
		if err := f.Err(); err != nil {
			return recoup.BulkResult{}, err
		}
	}
	act := action.act() + " " + id.String()
	if how.Token != "" && !how.Preview {
		frozen, err := engine.ParsePreviewToken(how.Token, act, s.now())
		if err != nil {
			return recoup.BulkResult{}, err
		}
		return s.takeMembers(ctx, c, frozen.Members, action)
	}
	letters, err := s.groupMembers(ctx, id)
	if err != nil {
		return recoup.BulkResult{}, err
	}
	members := make([]engine.Member, len(letters))
	for i := range letters {
		members[i] = engine.Member{ID: letters[i].Dead.ErrorID, UpdatedAt: letters[i].Dead.UpdatedAt}
	}
	if !how.Preview {
		return s.takeMembers(ctx, c, members, action)
	}
	shown := engine.PreviewSet{Act: act, Until: s.now().Add(engine.PreviewLife), Members: members}
	result := recoup.BulkResult{Preview: true, Matched: len(letters), Token: shown.Token()}
	decide := s.step(action, c.Name)
	for i := range letters { // as each is, without a lock
		_, _, err := decide(letters[i], s.now())
		result.Count(letters[i].Dead.ErrorID, err)
	}
	return result, nil
}

// CheckGroupAction says what is wrong with an act on a group, all of it.
func (s *Service) CheckGroupAction(ctx context.Context, c engine.Caller, id recoup.ID, in Action) error {
	var bad fault.FieldErrors
	bad.Merge(s.checkAction(&in))
	triage, ok := in.(Triage)
	if group, err := s.Store.Group(ctx, id); ok && err == nil && s.visible(c, group.Pipeline) == nil {
		var f check.Fields
		triage.confirms(&f, group.Stage, group.Class)
		bad.Merge(f.Err())
	}
	return bad.Err()
}

func (s *Service) groupMembers(ctx context.Context, id recoup.ID) (all []store.StagedWork, err error) {
	page := sqldb.Page{Limit: sqldb.MaxPage}
	for {
		letters, next, err := s.Store.DeadLetters(ctx, store.DeadLetterFilter{DeadLetterFilter: recoup.DeadLetterFilter{GroupID: id}}, page)
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

// takeMembers applies an act to dead letters in chunks, each under its own lock, unless
// it has changed since it was seen.
func (s *Service) takeMembers(ctx context.Context, c engine.Caller, members []engine.Member, in Action) (recoup.BulkResult, error) {
	result := recoup.BulkResult{Matched: len(members)}
	for part := range slices.Chunk(members, groupChunk) {
		decide := s.only(c, sqldb.ErrNotFound, s.step(in, c.Name)) // a token can be made up
		outcomes, err := s.each(ctx, len(part), func(i int) (store.StagedStep, error) {
			return store.StagedStep{ErrorID: part[i].ID, Decide: func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
				if err := part[i].Unchanged(l.Dead.UpdatedAt); err != nil {
					return l, store.StagedEffects{}, err
				}
				return decide(l, now)
			}}, nil
		})
		if err != nil {
			return result, fmt.Errorf("after %d of %d: %w", result.Applied+result.NotDone, len(members), err)
		}
		for i, o := range outcomes {
			result.Count(part[i].ID, o.Err)
		}
	}
	return result, nil
}

// CheckGroupNote says what is wrong with a note on a group, all of it.
func CheckGroupNote(owner, note string) error {
	_, err := checkGroupNote(owner, note)
	return err
}

func checkGroupNote(owner, note string) (clean string, err error) {
	var f check.Fields
	f.Identifier("owner", owner)
	clean = text(&f, "note", note, maxText)
	f.Require("owner or note", owner != "" || note != "")
	return clean, f.Err()
}

// NoteGroup says who owns a group and what is known of it. Earlier notes stay.
func (s *Service) NoteGroup(ctx context.Context, c engine.Caller, id recoup.ID, owner, note string) (recoup.DeadLetterGroup, error) {
	note, err := checkGroupNote(owner, note)
	if err != nil {
		return recoup.DeadLetterGroup{}, err
	}
	now := s.now()
	return s.Store.StepGroup(ctx, id, func(g recoup.DeadLetterGroup) (recoup.DeadLetterGroup, []recoup.Note, error) {
		if err := s.visible(c, g.Pipeline); err != nil {
			return g, nil, err
		}
		details := map[string]any{}
		if owner != "" {
			g.Owner, details["owner"] = owner, owner
		}
		if note != "" {
			g.Note = note
		}
		return g, []recoup.Note{{GroupID: g.ID, Step: "NOTED", Actor: c.Name, At: now, Text: note, Fields: recoup.EncodeJSON(details)}}, nil
	})
}

// trendDays is how far back the trend of a group goes.
const trendDays = 30

// Group returns a group with what it gained on each day of the last month.
func (s *Service) Group(ctx context.Context, c engine.Caller, id recoup.ID) (recoup.DeadLetterGroupDetails, error) {
	var d recoup.DeadLetterGroupDetails
	var err error
	if d.DeadLetterGroup, err = s.Store.Group(ctx, id); err != nil {
		return d, err
	}
	if err := s.visible(c, d.Pipeline); err != nil {
		return recoup.DeadLetterGroupDetails{}, err
	}
	days, err := s.GroupDays(ctx, []recoup.ID{id})
	if err != nil {
		return d, err
	}
	for i := range days {
		d.Days = append(d.Days, days[i].DayCount)
	}
	d.Notes, err = s.Store.Notes(ctx, recoup.Note{GroupID: id}, sqldb.MaxPage)
	return d, err
}

// GroupDays returns what groups gained on each day of the last month.
func (s *Service) GroupDays(ctx context.Context, ids []recoup.ID) ([]recoup.GroupDay, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.Store.GroupDays(ctx, ids, s.now().AddDate(0, 0, 1-trendDays).Truncate(24*time.Hour))
}
