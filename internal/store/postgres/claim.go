package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

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
		due, err := s.lockDue(ctx, t, claim)
		if err != nil || len(due) == 0 {
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

// lockDue locks what is due and reads it then, in the order in which it was found:
// the lock of the row in recoup.due is enough, because nobody changes an error that
// has one without it.
func (s *Store) lockDue(ctx context.Context, t *tx, claim store.Claim) ([]recoup.Error, error) {
	limit := clamp(claim.Limit)
	ids := make([]recoup.ID, 0, limit)
	collect(t.queue(s.sql.claim, claim.Tables, t.due(), limit), pgx.RowTo[recoup.ID], &ids)
	if err := t.lock(ctx); err != nil || len(ids) == 0 {
		return nil, err
	}
	due, place := make([]recoup.Error, 0, len(ids)), make(map[recoup.ID]int, len(ids))
	collect(t.queue(s.sql.readIDs, raw(ids)), decode(s.sql.errors), &due)
	for i, id := range ids {
		place[id] = i
	}
	err := t.send(ctx)
	slices.SortFunc(due, func(a, b recoup.Error) int { return place[a.ID] - place[b.ID] })
	return due, err
}
