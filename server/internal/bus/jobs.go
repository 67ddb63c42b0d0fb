package bus

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// How long is kept what the bus could still deliver again or fill in, and how old a gap
// is when people are notified: a day more than the bus keeps messages; an hour.
const (
	keepBatches = 8 * 24 * time.Hour
	gapAge      = time.Hour
)

// foldChunk is how many batches a run folds at most.
const foldChunk = 1000

// Jobs returns the jobs of the bus. They are behind schedule as long as there is something
// that a person has to look at, and so people are notified of it.
func (s *Service) Jobs() []scheduler.Job {
	return []scheduler.Job{
		{
			Name: "bus-gaps", About: "join what was written from the bus; behind schedule while something between has been missing for an hour", Every: time.Minute, Late: gapAge,
			Chunk: func(ctx context.Context, t scheduler.Run) (int, bool, error) {
				n, err := Fold(ctx, s.DB, t.Now.Add(-keepBatches), foldChunk)
				return n, n >= foldChunk, err
			},
			Overdue: func(ctx context.Context, now time.Time, limit int) (store.Overdue, error) {
				gaps, err := Gaps(ctx, s.DB, now, limit)
				if err != nil || len(gaps) == 0 {
					return store.Overdue{}, err
				}
				return store.Overdue{N: len(gaps), Since: gaps[0].Since}, nil
			},
		},
		{
			Name: "bus-quarantine", About: "look for batches of the bus that could not be written; behind schedule while there are any", Every: 15 * time.Second, Late: time.Minute,
			Chunk: func(context.Context, scheduler.Run) (int, bool, error) { return 0, false, nil },
			Overdue: func(ctx context.Context, _ time.Time, limit int) (store.Overdue, error) {
				return s.waiting(ctx, limit)
			},
		},
	}
}

// waiting says how many batches are in quarantine, at most limit, and since when. A bus that is
// away is not asked: its own metrics and the doctor report that.
func (s *Service) waiting(ctx context.Context, limit int) (store.Overdue, error) {
	list, err := s.Bus.ListQuarantine(ctx, 0, limit)
	if errors.Is(err, ErrAway) || len(list) == 0 {
		return store.Overdue{}, nil
	}
	return store.Overdue{N: len(list), Since: list[0].At}, err
}
