package adoption

import (
	"context"
	"time"

	"recoup/internal/store"
)

const (
	// maxLag is how far a standby may be behind while the backfill goes on, and lagPause
	// how long it waits then.
	maxLag   = 10 * time.Second
	lagPause = time.Second
)

// backfill looks at a batch of the rows that were there before the adoption. It takes at
// most half of the time: after each batch it rests as long as that took, so that a database
// that is slow because others are busy is left alone longer. While a standby is
// behind it waits.
func (s *Service) backfill(ctx context.Context, a *store.Adoption, turn store.Turn, st *state) (more bool, err error) {
	begun := s.Now()
	if begun.Before(st.slow) {
		return false, nil
	}
	lag, err := s.Store.ReplicationLag(ctx)
	if err != nil {
		return false, err
	}
	if lag > maxLag {
		st.slow = begun.Add(lagPause)
		return false, nil
	}
	keys, err := s.Store.ScanSource(ctx, a.ID, a.ScannedTo, Batch)
	if err != nil {
		return false, err
	}
	if err := s.lookAt(ctx, a, turn, lookAt{keys: keys}); err != nil {
		return false, err
	}
	last, done := a.ScannedTo, len(keys) == 0
	if !done {
		last = keys[len(keys)-1]
	}
	if err := s.Store.SaveScan(ctx, turn, last, len(keys), done); err != nil || done {
		return false, err
	}
	a.ScannedTo = last
	now := s.Now()
	st.slow = now.Add(now.Sub(begun))
	return !now.Before(st.slow), nil
}
