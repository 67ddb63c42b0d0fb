package postgres

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// ClaimDue leases due errors. Tables are served in the order in which they are
// named, and in each the longest overdue error comes first. Rows that another
// claimer holds at this moment are passed over, so claimers never wait for each
// other.
func (s *Store) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	if claim.Limit <= 0 || len(claim.Tables) == 0 {
		return nil, nil
	}
	decide := func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		return claim.Decide(current, now)
	}
	var leased []recoup.Error
	err := s.transact(ctx, "claim", claim.Now, func(t *tx) error {
		leased = nil
		due := make([]recoup.Error, 0, clamp(claim.Limit))
		collect(t.queue(s.sql.claim, claim.Tables, t.due(), clamp(claim.Limit)), decode(s.sql.errors), &due)
		if err := t.lock(ctx); err != nil {
			return err
		}
		w := store.NewWork(t.now, due)
		leased = make([]recoup.Error, 0, len(due))
		for i := range due {
			out := w.Step(store.Step{ID: due[i].ID, Decide: decide, Tell: claim.Tell})
			if out.Err == nil && !out.Error.LeaseToken.IsZero() {
				leased = append(leased, out.Error)
			}
		}
		s.write(t, w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}
