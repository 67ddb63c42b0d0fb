package deadletter

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Selection is what a replay is asked for, and its bounds. It is kept with the replay.
type Selection struct {
	recoup.ReplaySelection

	// Within are the pipelines that whoever asked may replay; nil: all.
	Within *store.Pipelines `json:"within,omitempty"`

	// Shown is how many its preview has shown, if it is a replay of what one has.
	Shown int `json:"shown,omitempty"`
}

// asked is the filter as it was asked for.
func (sel *Selection) asked() recoup.DeadLetterFilter {
	return recoup.DeadLetterFilter{Pipeline: sel.Pipeline, Stage: sel.Stage, Class: sel.Class, GroupID: sel.GroupID, After: sel.After, Before: sel.Before}
}

// filter is what was asked for, within its bounds.
func (sel *Selection) filter() store.DeadLetterFilter {
	f := store.DeadLetterFilter{DeadLetterFilter: sel.asked()}
	f.Pipeline, f.Within = sel.Within.Narrow(f.Pipeline)
	return f
}

// MaxNamed is how many dead letters a replay may name; a preview may show more.
const MaxNamed = 1000

func (sel *Selection) check(f *check.Fields) {
	empty := sel.asked() == recoup.DeadLetterFilter{}
	switch {
	case len(sel.IDs) > 0 && !empty:
		f.Addf("ids", "exclusive", "give a filter or ids, not both")
	case len(sel.IDs) > MaxNamed:
		f.Addf("ids", "max_items", "a replay may name %d dead letters: use a filter for more", MaxNamed)
	case len(sel.IDs) == 0 && empty && !sel.All:
		f.Addf("filter", "required", `an empty filter selects every dead letter; say "all": true if that is meant`)
	}
	sel.checkNames(f)
}

func (sel *Selection) checkNames(f *check.Fields) {
	for _, x := range [][2]string{{"pipeline", sel.Pipeline}, {"stage", sel.Stage}, {"from_start", sel.FromStart}} {
		if field, name := x[0], x[1]; name != "" {
			f.Name(field, name)
		}
	}
}

// Plan fills in what a plan leaves open.
func Plan(p recoup.ReplayPlan, single bool) recoup.ReplayPlan {
	if p.Rate == 0 {
		p.Rate = 10
	}
	if p.Concurrency == 0 {
		p.Concurrency = 100
	}
	switch {
	case p.Canary < 0 || single:
		p.Canary = 0
	case p.Canary == 0:
		p.Canary = 1
	}
	if p.Share == 0 {
		p.Share = 0.1
	}
	if p.Limit == 0 {
		p.Limit = 0.1
	}
	return p
}

func checkPlan(p recoup.ReplayPlan, f *check.Fields) {
	if !(p.Rate > 0 && p.Rate <= 10_000) {
		f.Addf("rate", "range", "rate must be above 0 and at most 10000 items per second")
	}
	if p.Concurrency < 1 || p.Concurrency > 100_000 {
		f.Addf("concurrency", "range", "concurrency must be between 1 and 100000")
	}
	if p.Canary > 1000 {
		f.Addf("canary", "range", "canary must be at most 1000 items; below 0: there is no ramp")
	}
	if !(p.Share > 0 && p.Share <= 1) {
		f.Addf("share", "range", "share must be above 0 and at most 1")
	}
	if !(p.Limit > 0 && p.Limit <= 1) {
		f.Addf("limit", "range", "limit must be above 0 and at most 1")
	}
}

// checkReplay complains of all that is wrong with a request. It fills in the plan, reads
// the class and cleans the reason.
func (s *Service) checkReplay(in *recoup.NewReplay, f *check.Fields) Selection {
	sel := s.selection(in.ReplaySelection, f)
	filtered := sel.asked() != recoup.DeadLetterFilter{} || sel.All
	switch {
	case in.Token != "" && (filtered || len(sel.IDs) > 0):
		f.Addf("token", "exclusive", "a token stands for the set of its preview: give no filter and no ids beside it")
	case in.Token == "" && len(sel.IDs) == 0:
		f.Addf("token", "required", "name dead letters in ids, or preview a filter first (POST /v1/replays/preview) and replay with the token of its answer")
	}
	if in.Token == "" && (filtered || len(sel.IDs) > 0) {
		sel.check(f)
	} else {
		sel.checkNames(f)
	}
	in.Plan = Plan(in.Plan, len(sel.IDs) == 1)
	checkPlan(in.Plan, f)
	in.Reason = needed(f, "reason", in.Reason)
	return sel
}

// selection reads the class of a selection. One whose class is wrong is not empty for that.
func (s *Service) selection(asked recoup.ReplaySelection, f *check.Fields) Selection {
	var err error
	asked.Class, err = s.class(asked.Class)
	f.Merge(err)
	return Selection{ReplaySelection: asked}
}

// CheckReplay says what is wrong with a request for a replay, all of it.
func (s *Service) CheckReplay(in recoup.NewReplay) error {
	var f check.Fields
	s.checkReplay(&in, &f)
	return f.Err()
}

// advanceAtOnce is how far a replay is taken before it is answered: the first
// stretches of its members are added, and a small one runs. The rest is up to
// whoever looks after it.
const advanceAtOnce = 4

// Replay begins a replay of the dead letters that are named, or that a preview has
// shown and that have not changed since. Its members are fixed: what becomes ready
// later is not among them.
func (s *Service) Replay(ctx context.Context, c engine.Caller, in recoup.NewReplay) (recoup.Replay, error) {
	var f check.Fields
	sel := s.checkReplay(&in, &f)
	if err := f.Err(); err != nil {
		return recoup.Replay{}, err
	}
	hub, members, err := s.fix(ctx, c, &sel, in.Token)
	if err != nil {
		return recoup.Replay{}, err
	}
	if err := s.replayable(ctx, &sel, members); err != nil {
		return recoup.Replay{}, err
	}
	now := s.now()
	selection, err := json.Marshal(sel)
	if err != nil {
		return recoup.Replay{}, err
	}
	r := recoup.Replay{
		ID: s.IDs.New(now), State: recoup.ReplayCollecting, Hub: hub, Selection: recoup.JSON(selection), Cursor: formatCursor(members), Plan: in.Plan, NextAt: now,
		CreatedAt: now, CreatedBy: c.Name, Reason: in.Reason, StateAt: now, StateBy: c.Name,
	}
	if err := s.Store.AppendAudit(ctx, c.Act(r.Reason, now).On("replay.start", r.ID.String(), map[string]any{"dead_letters": len(members)})); err != nil {
		return recoup.Replay{}, err
	}
	if err := s.Store.CreateReplay(ctx, r, recoup.Note{ReplayID: r.ID, Step: recoup.WorkflowStep(r.State), Actor: c.Name, At: now, Text: r.Reason}); err != nil {
		return recoup.Replay{}, err
	}
	for range advanceAtOnce {
		if more, err := s.advance(ctx, r.ID); err != nil || !more {
			break // it is stored, and goes on without us
		}
	}
	status, err := s.Store.Replay(ctx, r.ID)
	if err == nil && status.Members == 0 && status.State != recoup.ReplayCollecting {
		err = s.overtaken(ctx, &sel, members)
	}
	return PublicReplay(&status), err
}

// overtaken says why a replay has found nothing: another was faster.
func (s *Service) overtaken(ctx context.Context, sel *Selection, members []engine.Member) error {
	if err := s.replayable(ctx, sel, members); err != nil {
		return err
	}
	return fault.New(fault.CodeConflict, "Another replay was faster, and has ended meanwhile; look at the dead letters again.")
}

// replayable refuses a replay that would have no member. A single dead letter says
// itself what stands in its way.
func (s *Service) replayable(ctx context.Context, sel *Selection, members []engine.Member) error {
	not := map[string]int{}
	for i := range members {
		_, err := s.mayReplay(ctx, sel, &members[i])
		if err == nil || len(members) == 1 || !ofLetter(err) {
			return err
		}
		not[reasonOf(err)]++
	}
	return fault.New(fault.CodeBusinessRuleViolation, "None of the dead letters can be replayed now; the preview says why.").With("not_eligible", not)
}

func selectionOf(r *recoup.Replay) (sel Selection, err error) {
	if err := json.Unmarshal([]byte(r.Selection), &sel); err != nil {
		return sel, fmt.Errorf("replay %s: its selection cannot be read: %w", r.ID, err)
	}
	return sel, nil
}

// collect adds the next stretch of members to a replay, and reports whether there
// may be more.
func (s *Service) collect(ctx context.Context, r *recoup.Replay) (more bool, err error) {
	left, err := parseCursor(r.Cursor)
	if len(left) == 0 || err != nil {
		return false, err
	}
	sel, err := selectionOf(r)
	if err != nil {
		return false, err
	}
	part := left[:min(len(left), sqldb.MaxPage)]
	ids, seen := make([]recoup.ID, len(part)), make(map[recoup.ID]engine.Member, len(part))
	for i, m := range part {
		ids[i], seen[m.ID] = m.ID, m
	}
	left = left[len(part):]
	_, err = s.Store.AddMembers(ctx, time.Time{}, store.Members{
		ReplayID: r.ID, ErrorIDs: ids, Cursor: formatCursor(left), Decide: s.join(r, &sel, seen),
	})
	return len(left) > 0, err
}

// allCollected is the cursor of a replay whose members are all there.
const allCollected = "."

// formatCursor writes down what is left to be added to a replay. It is kept with the
// replay, so that whoever goes on adds the same, and is short once all are there.
func formatCursor(left []engine.Member) string {
	if len(left) == 0 {
		return allCollected
	}
	return base64.RawURLEncoding.EncodeToString(engine.AppendMembers(nil, left))
}

func parseCursor(s string) ([]engine.Member, error) {
	if s == allCollected {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	left, ok := engine.ReadMembers(b)
	if err != nil || !ok {
		return nil, fmt.Errorf("a replay's cursor cannot be read: %w", err)
	}
	return left, nil
}

// join decides whether a dead letter becomes a member of a replay: not if it has
// changed since it was seen. It does not expire until it comes back.
func (s *Service) join(r *recoup.Replay, sel *Selection, seen map[recoup.ID]engine.Member) store.DecideStaged {
	replay, by, reason, start, bounds := r.ID, r.CreatedBy, r.Reason, sel.FromStart, sel.Within
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		var effects store.StagedEffects
		if !within(bounds, &l) {
			return l, effects, sqldb.ErrNotFound
		}
		if m := seen[l.Dead.ErrorID]; m.Unchanged(l.Dead.UpdatedAt) != nil {
			return l, effects, m.Unchanged(l.Dead.UpdatedAt)
		}
		if err := may(&l, ActReplay); err != nil {
			return l, effects, err
		}
		held := l.Error.ExpiresAt
		if err := s.move(&l, &effects, lifecycle.Replay{By: by, Reason: reason}, now); err != nil {
			return l, effects, err
		}
		d := &l.Dead
		l.Item = recoup.ReplayItem{ReplayID: replay, Round: d.Round, Stage: d.Stage}
		d.Step, d.HeldExpiry, d.UpdatedAt = recoup.StepReplaying, held, now
		details := map[string]any{"replay_id": replay.String()}
		if start != "" {
			l.Item.Stage, effects.Anew = start, restarted(d, now)
			details["from_start"] = start
		}
		effects.Notes = []recoup.Note{{ErrorID: d.ErrorID, Round: d.Round, Step: d.Step, Actor: by, At: now, Text: reason, Fields: recoup.EncodeJSON(details)}}
		return l, effects, nil
	}
}

// leave decides what becomes of a member of a cancelled replay: it is as it was
// before, and can be replayed again.
func (s *Service) leave(by, why string) store.DecideStaged {
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		var effects store.StagedEffects
		if err := s.move(&l, &effects, lifecycle.Return{By: by, Reason: "the replay was cancelled", Expires: l.Dead.HeldExpiry}, now); err != nil {
			return l, effects, err
		}
		l.Item.State, l.Item.EndedAt, l.Item.Detail = recoup.ItemCancelled, now, why
		l.Queued = recoup.WorkItem{}
		l.Dead.Step, l.Dead.HeldExpiry, l.Dead.UpdatedAt = recoup.StepValidated, time.Time{}, now
		return l, effects, nil
	}
}
