package adoption

import (
	"context"
	"strings"
	"time"
)

// mirror writes into the source what became of its errors, a batch of them. Rows that
// others hold are left for the next time; one that the source refuses, by a constraint
// or a trigger of its owner, is tried again later.
func (s *Service) mirror(ctx context.Context, turn Lease, st *state) (more bool, err error) {
	after := st.moved
	for limit := Batch; ; limit = max(1, limit/8) {
		done, err := s.Store.Mirror(ctx, turn, after, limit)
		said, ofRow := rowFault(err)
		switch {
		case err == nil:
			st.moved = done.Last
			s.count(func(c *Counts) { c.Mirrored += int64(done.Written) })
			return done.Last != 0, nil
		case !ofRow:
			return false, err
		case limit == 1:
			return true, s.refuse(ctx, turn, done, said)
		}
	}
}

// After a refusal a row is left alone for a while.
const (
	firstRefused = time.Minute
	lastRefused  = time.Hour
)

// refuse notes that a row refuses what became of its error, and when it is tried again.
func (s *Service) refuse(ctx context.Context, turn Lease, done Mirrored, said string) error {
	cause, _ := s.Redactor.String(said)
	if done.Attempts == 0 {
		s.Logger.Warn("row of an adopted table refuses what became of its error; it will be retried", "adoption", turn.Adoption, "key", listed(done.Key), "cause", cause)
	}
	s.count(func(c *Counts) { c.Refused++ })
	return s.Store.RefuseMoved(ctx, turn, Refusal{
		Entry: done.Last, Key: listed(done.Key), Cause: strings.ToValidUTF8(cause[:min(len(cause), maxCause)], ""), Attempts: done.Attempts + 1,
		RetryAt: s.Now().Add(min(firstRefused<<min(done.Attempts, 10), lastRefused)),
	})
}

// refusedDue reports whether rows that have refused what became of their error are to be tried again.
func (s *Service) refusedDue(a *Target) bool {
	return !a.RefusedAt.IsZero() && !s.Now().Before(a.RefusedAt)
}

// retryRefused queues these rows again.
func (s *Service) retryRefused(ctx context.Context, a *Target, turn Lease) error {
	if !s.refusedDue(a) {
		return nil
	}
	a.RefusedAt = time.Time{}
	return s.Store.RetryRefused(ctx, turn, s.Now(), Batch)
}
