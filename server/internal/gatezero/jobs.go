package gatezero

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// JobStore is what the jobs of Gate Zero need of a store.
type JobStore interface {
	FreezeDue(ctx context.Context, now time.Time, limit int, decide DecideCase) (int, error)
	Overdue(ctx context.Context, now time.Time, limit int) (store.Overdue, error)
}

// freezeChunk is how many recoveries a run ends at most. It locks them.
const freezeChunk = 200

// Jobs returns the scheduled jobs of Gate Zero.
func Jobs(s JobStore, gate func() policy.GateZero) []scheduler.Job {
	return []scheduler.Job{{
		Name: "freeze", About: "end the recoveries of batches whose time is over", Every: 10 * time.Second, Late: time.Hour, After: "operations",
		Chunk: func(ctx context.Context, _ scheduler.Run) (int, bool, error) {
			rules := gate()
			n, err := s.FreezeDue(ctx, time.Time{}, freezeChunk, func(c Case, now time.Time) (Case, CaseEffects, error) {
				return Step(rules, c, Freeze{}, now) // each is decided again under its lock
			})
			return n, n >= freezeChunk, err
		},
		Overdue: s.Overdue,
	}}
}
