package adoption

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	// indexAfter is how long changes may wait before their entities are indexed.
	indexAfter = time.Second

	// indexBudget is how long the entities of one adoption are indexed before those of the next.
	indexBudget = 5 * time.Second
)

// index indexes the entities of changes that have waited for a while, so that the gate need not
// read them one by one. It reads no source: an adoption whose source is slow, locked or out of
// reach is indexed all the same. It runs in the background, once at a time.
func (s *Service) index(ctx context.Context, list []Target) {
	late := s.late(list)
	if len(late) == 0 && len(list) < 2 || !s.indexes.CompareAndSwap(false, true) {
		return
	}
	s.working.Go(func() {
		defer s.indexes.Store(false)
		if err := s.indexLate(ctx, late); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrBusy) {
			s.Logger.Warn("changes of adopted tables cannot be indexed; it will be retried", "cause", err)
		}
	})
}

// late returns the adoptions whose changes have waited for a while.
func (s *Service) late(list []Target) (late []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	for i := range list {
		a := &list[i]
		st := s.state(a.ID)
		switch {
		case !a.Changed || a.State == wire.AdoptionReleasing:
			st.waiting = time.Time{}
		case st.waiting.IsZero():
			st.waiting = now
		case now.Sub(st.waiting) >= indexAfter:
			late = append(late, a.ID)
		}
	}
	return late
}

// upToDate notes that no change of an adoption waits.
func (s *Service) upToDate(st *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.waiting = time.Time{}
}

// indexLate indexes changes, and notes which adoptions have none to index.
func (s *Service) indexLate(ctx context.Context, late []int) error {
	for _, id := range late {
		for begun := s.Now(); s.Now().Sub(begun) < indexBudget; {
			if n, err := s.Store.IndexChanges(ctx, id, maxIndexed); err != nil || n == 0 {
				if err != nil {
					return err
				}
				break
			}
		}
	}
	return s.Store.PassChanges(ctx)
}
