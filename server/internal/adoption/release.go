package adoption

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// release ends a batch of the errors of an adoption that is being released, and at last
// the adoption itself. Dead letters in mid-replay fail first: their jobs cannot be reached any more.
// One that still cannot end keeps its pair, and the next turn tries again.
func (s *Service) release(ctx context.Context, a *Target, turn Lease) (more bool, err error) {
	if err := s.failReplays(ctx, a); err != nil {
		return false, err
	}
	pairs, err := s.Store.PairsAfter(ctx, turn.Adoption, nil, Batch)
	if err != nil {
		return false, err
	}
	if len(pairs) == 0 {
		_, err := s.Store.EndAdoption(ctx, turn)
		return false, err
	}
	if err := s.endErrors(ctx, pairs); err != nil {
		return false, err
	}
	keys := make([]string, len(pairs))
	for i := range pairs {
		keys[i] = pairs[i].Key
	}
	if pairs, err = s.Store.Pairs(ctx, turn.Adoption, keys); err != nil {
		return false, err
	}
	var over, kept []string
	for i := range pairs {
		switch p := &pairs[i]; {
		case !p.Open:
			over = append(over, p.Key)
		case s.keptForEver(p.Table):
			kept = append(kept, p.Key)
		}
	}
	if len(kept) > 0 {
		if err := s.Store.KeepPairs(ctx, turn, kept); err != nil {
			return false, err
		}
	}
	return len(over)+len(kept) > 0, s.Store.SavePairs(ctx, turn, nil, over)
}

// keptForEver reports whether the policy keeps the errors of a table as they are.
func (s *Service) keptForEver(table string) bool {
	t, ok := s.Engine.Policies.Current().Table(table)
	return ok && t.Infinite()
}

// endErrors archives the errors of pairs that are open, and those of dead letters whose jobs run fail first.
func (s *Service) endErrors(ctx context.Context, pairs []Row) error {
	var acts []engine.Act
	var running []recoup.WorkResult
	for i := range pairs {
		p := &pairs[i]
		if !p.Open {
			continue
		}
		acts = append(acts, engine.Act{ID: p.ErrorID, Input: lifecycle.ArchiveNow{Reason: "released"}})
		if !p.WorkID.IsZero() && !p.Attempt.IsZero() && p.Attempt == p.LeaseToken {
			running = append(running, s.failedWork(p.WorkID, p.Attempt, p.Stage, lost()))
		}
	}
	if err := s.results(ctx, running); err != nil {
		return err
	}
	return s.applyAs(ctx, engine.Caller{Name: "release"}, acts)
}

// failReplays lets replayed work of an adoption fail that waits for a worker.
func (s *Service) failReplays(ctx context.Context, a *Target) error {
	if a.Preset == "" {
		return nil
	}
	lanes, err := s.Store.LanesOf(ctx, s.pipeline(a, ""), recoup.Lane{}, maxLanes)
	if err != nil || len(lanes) == 0 {
		return err
	}
	work, err := s.Letters.Claim(ctx, caller(), recoup.WorkClaim{Lanes: lanes, Worker: By, Limit: maxRetries, LeaseSeconds: int(attemptLasts / time.Second)})
	if err != nil {
		return err
	}
	results := make([]recoup.WorkResult, len(work))
	for i := range work {
		results[i] = s.homeless(a, &work[i].WorkItem)
	}
	return s.results(ctx, results)
}
