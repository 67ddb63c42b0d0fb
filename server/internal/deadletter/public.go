package deadletter

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Public returns a dead letter as callers see it: with what its error and its replay
// say of it, and the act that it waits for.
func Public(l *store.StagedWork) recoup.DeadLetter {
	d, e := l.Dead, &l.Error
	d.DeadLetterStatus = recoup.DeadLetterStatus{
		Next: NextAct(&l.Dead), EntityID: e.EntityID, State: e.State, Tier: e.EscalationLevel, ParkReason: e.ParkReason, ExpiresAt: e.ExpiresAt,
	}
	if l.Item.State.Open() {
		d.ReplayID = l.Item.ReplayID
	}
	if !e.ID.IsZero() {
		d.Owner = e.Owner()
	}
	return d
}

// DeadLetter is that of the work, as callers see it.
func (d *Done) DeadLetter() recoup.DeadLetter {
	out := Public(&d.Letter)
	out.Repeated = d.Repeated
	return out
}

// Work is the work as it is in the queue, as callers see it.
func (d *Done) Work() recoup.WorkItem {
	out := d.Letter.Queued.Public()
	out.Repeated = d.Repeated
	return out
}

// Result answers a result with what is left of the work. A worker keeps the token that
// it has sent.
func (d *Done) Result(r *recoup.WorkResult) (out recoup.WorkDone) {
	out.Repeated = d.Repeated
	if work := d.Letter.Queued.Public(); !work.WorkID.IsZero() {
		if r.Outcome == Extended {
			work.LeaseToken = r.LeaseToken
		}
		out.Work = &work
	}
	if !d.Letter.Dead.ErrorID.IsZero() {
		letter := Public(&d.Letter)
		out.DeadLetter = &letter
	}
	return out
}

// Letters lists the dead letters that the caller sees, newest first.
func (s *Service) Letters(ctx context.Context, c engine.Caller, f recoup.DeadLetterFilter, p sqldb.Page) ([]recoup.DeadLetter, sqldb.Cursor, error) {
	var err error
	if f.Class, err = s.class(f.Class); err != nil {
		return nil, sqldb.Cursor{}, err
	}
	if err := s.within(c, f.Pipeline); err != nil {
		return nil, sqldb.Cursor{}, err
	}
	bounded := store.DeadLetterFilter{DeadLetterFilter: f}
	bounded.Pipeline, bounded.Within = s.bounds(c).Narrow(f.Pipeline)
	letters, cursor, err := s.Store.DeadLetters(ctx, bounded, p)
	out := make([]recoup.DeadLetter, len(letters))
	for i := range letters {
		out[i] = Public(&letters[i])
	}
	return out, cursor, err
}

// Letter returns a dead letter with its rounds, notes and replays.
func (s *Service) Letter(ctx context.Context, c engine.Caller, id recoup.ID) (recoup.DeadLetterDetails, error) {
	l, err := s.Store.DeadLetter(ctx, id)
	if err == nil {
		err = s.visible(c, l.Dead.Pipeline)
	}
	if err != nil {
		return recoup.DeadLetterDetails{}, err
	}
	d := recoup.DeadLetterDetails{DeadLetter: Public(&l)}
	if d.Rounds, err = s.Store.Rounds(ctx, id, sqldb.MaxPage); err != nil {
		return d, err
	}
	if d.Notes, err = s.Store.Notes(ctx, recoup.Note{ErrorID: id}, sqldb.MaxPage); err != nil {
		return d, err
	}
	d.Replays, err = s.Store.ItemsOf(ctx, id, sqldb.MaxPage)
	return d, err
}

// ReplayOf returns the replay that a dead letter is part of; zero: none.
func (s *Service) ReplayOf(ctx context.Context, id recoup.ID) (recoup.ID, error) {
	l, err := s.Store.DeadLetter(ctx, id)
	if err != nil || !l.Item.State.Open() {
		return recoup.ID{}, err
	}
	return l.Item.ReplayID, nil
}

// PublicReplay is a replay as callers see it: with its ramp stage, and the number of
// its items in each state.
func PublicReplay(s *store.ReplayStatus) recoup.Replay {
	r := s.Replay
	r.Step = RampStage(&r)
	for state, n := range map[recoup.ItemState]*int64{
		recoup.ItemPending: &r.Counts.Pending, recoup.ItemReleased: &r.Counts.Released, recoup.ItemSucceeded: &r.Counts.Succeeded,
		recoup.ItemFailed: &r.Counts.Failed, recoup.ItemRepeated: &r.Counts.Repeated,
		recoup.ItemCancelled: &r.Counts.Cancelled, recoup.ItemArchived: &r.Counts.Archived,
	} {
		*n = s.Count(state)
	}
	return r
}

// Replays lists the replays of the caller's hubs, newest first.
func (s *Service) Replays(ctx context.Context, c engine.Caller, state recoup.ReplayState, p sqldb.Page) ([]recoup.Replay, sqldb.Cursor, error) {
	found, cursor, err := s.Store.Replays(ctx, store.ReplayFilter{State: state, Hubs: c.Hubs}, p)
	out := make([]recoup.Replay, len(found))
	for i := range found {
		out[i] = PublicReplay(&found[i])
	}
	return out, cursor, err
}

// Status returns a replay with its counts and notes.
func (s *Service) Status(ctx context.Context, c engine.Caller, id recoup.ID) (recoup.ReplayDetails, error) {
	status, err := s.status(ctx, c, id)
	if err != nil {
		return recoup.ReplayDetails{}, err
	}
	notes, err := s.Store.Notes(ctx, recoup.Note{ReplayID: id}, sqldb.MaxPage)
	return recoup.ReplayDetails{Replay: PublicReplay(&status), Notes: notes}, err
}

// Items lists the members of a replay, as [store.DeadLetterReader] does.
func (s *Service) Items(ctx context.Context, c engine.Caller, id recoup.ID, state recoup.ItemState, from, limit int) ([]recoup.ReplayItem, int, error) {
	if _, err := s.status(ctx, c, id); err != nil {
		return nil, 0, err
	}
	return s.Store.Items(ctx, id, state, from, limit)
}

func (s *Service) status(ctx context.Context, c engine.Caller, id recoup.ID) (store.ReplayStatus, error) {
	status, err := s.Store.Replay(ctx, id)
	if err == nil && !c.Of(status.Hub) {
		err = sqldb.ErrNotFound
	}
	return status, err
}
