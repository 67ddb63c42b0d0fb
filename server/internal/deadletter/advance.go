package deadletter

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// How much a call of [Service.Advance] takes on.
const (
	maxReplays = 20  // that are looked after
	maxEnded   = 500 // items of a cancelled replay, at a time
	maxSpent   = 200 // pieces of work over which workers were lost
)

// Advance does what is due: it advances replays, and dead-letters work over which too
// many workers were lost. All state is in the store, so that any node may call it at
// any time, also concurrently. It reports whether there is more to do at once.
func (s *Service) Advance(ctx context.Context) (more bool, err error) {
	lost, failed := s.deadLetterLost(ctx, maxSpent)
	ids, err := s.Store.DueReplays(ctx, s.now(), maxReplays)
	if err != nil {
		return false, errors.Join(failed, err)
	}
	more = lost >= maxSpent || len(ids) >= maxReplays
	for _, id := range ids {
		again, err := s.advance(ctx, id)
		more, failed = more || again, errors.Join(failed, err)
	}
	return more, failed
}

// advance advances one replay.
func (s *Service) advance(ctx context.Context, id recoup.ID) (more bool, err error) {
	status, err := s.Store.Replay(ctx, id)
	if err != nil {
		return false, err
	}
	switch status.State {
	case recoup.ReplayCollecting:
		return s.fill(ctx, status.Replay)
	case recoup.ReplayCancelling:
		return s.empty(ctx, status.Replay)
	case recoup.ReplayRunning:
		return s.run(ctx, id)
	}
	return false, nil
}

// run releases what is due.
func (s *Service) run(ctx context.Context, id recoup.ID) (more bool, err error) {
	released, at := 0, time.Time{}
	status, err := s.Store.StepReplay(ctx, time.Time{}, id, func(current store.ReplayStatus, now time.Time) (recoup.Replay, store.ReplayEffects, error) {
		released, at = 0, now
		if current.NextAt.After(now) {
			return current.Replay, store.ReplayEffects{}, nil // another node was here
		}
		r, effects := DecideReplay(current, now)
		released, effects.Notices = effects.Release, s.notices(&current, &r)
		return r, effects, nil
	})
	if released > 0 {
		s.Wake()
	}
	return err == nil && status.State == recoup.ReplayRunning && !status.NextAt.After(at), err
}

// fill adds members to a replay until all are there, and lets it run. The store
// keeps how far it came.
func (s *Service) fill(ctx context.Context, r recoup.Replay) (more bool, err error) {
	if more, err := s.collect(ctx, &r); err != nil || more {
		return more, ended(err)
	}
	sel, err := selectionOf(&r)
	if err != nil {
		return false, err
	}
	_, err = s.Store.StepReplay(ctx, time.Time{}, r.ID, func(current store.ReplayStatus, now time.Time) (recoup.Replay, store.ReplayEffects, error) {
		if current.State != recoup.ReplayCollecting {
			return current.Replay, store.ReplayEffects{}, nil
		}
		next, effects := begin(current.Replay, sel.Shown, now)
		return next, effects, nil
	})
	return true, err
}

// ended forgives that another node has fixed the members meanwhile.
func ended(err error) error {
	if errors.Is(err, store.ErrRefused) {
		return nil
	}
	return err
}

// empty ends the items of a cancelled replay that no worker holds. Those that one
// does are waited for.
func (s *Service) empty(ctx context.Context, r recoup.Replay) (more bool, err error) {
	n, err := s.Store.EndItems(ctx, time.Time{}, r.ID, maxEnded, s.leave(r.StateBy, r.Why))
	if err != nil || n >= maxEnded {
		return n >= maxEnded, err
	}
	_, err = s.Store.StepReplay(ctx, time.Time{}, r.ID, func(current store.ReplayStatus, now time.Time) (recoup.Replay, store.ReplayEffects, error) {
		next := current.Replay
		if current.State != recoup.ReplayCancelling {
			return next, store.ReplayEffects{}, nil
		}
		if t := count(&current); t.pending+t.out > 0 {
			next.NextAt = now.Add(look)
			return next, store.ReplayEffects{}, nil
		}
		next, effects := changed(next, recoup.ReplayCancelled, next.StateBy, next.Why, now)
		return next, effects, nil
	})
	return false, err
}

// How much a call of [Service.Purge] deletes of each kind: so many at a time, which
// holds nobody up for long, and so many times.
const (
	purgeChunk = sqldb.MaxPage
	maxPurges  = 50
)

// Purge deletes what has been kept for as long as the policy says, a bounded part of
// it.
func (s *Service) Purge(ctx context.Context) error {
	now, p := s.now(), s.Policies.Current()
	return errors.Join(
		purge(ctx, now.Add(-p.ReplayRetention), s.Store.PurgeReplays),
		purge(ctx, now.Add(-p.CheckpointRetention), s.Store.PurgeCheckpoints))
}

// purge deletes chunk by chunk, until one is not full.
func purge(ctx context.Context, before time.Time, chunk func(context.Context, time.Time, int) (int, error)) error {
	for range maxPurges {
		if n, err := chunk(ctx, before, purgeChunk); err != nil || n < purgeChunk {
			return err
		}
	}
	return nil
}
