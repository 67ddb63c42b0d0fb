package adoption

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	// maxLag is how far a standby may be behind while the backfill goes on, and lagPause
	// how long it waits then.
	maxLag   = 10 * time.Second
	lagPause = time.Second

	// maxRest is the longest rest between batches that is waited for: behind a longer one
	// there is time to look what else there is.
	maxRest = 250 * time.Millisecond
)

// backfill looks at a batch of the rows that were there before the adoption, and rests
// behind it. While a standby is behind it waits. It goes to the key that was the last one
// when it began, after the triggers were there: what is written meanwhile is theirs, however
// fast it comes.
func (s *Service) backfill(ctx context.Context, a *Target, turn Lease, st *state) (more bool, err error) {
	begun := s.Now()
	if waits, err := s.waits(ctx, st); waits || err != nil {
		return false, err
	}
	at, err := s.Store.BeginScan(ctx, turn)
	if err != nil {
		return false, err
	}
	var keys []string
	if at.End != nil {
		if keys, err = s.Store.ScanSource(ctx, a.ID, at.To, *at.End, Batch); err != nil {
			return false, err
		}
	}
	seen, err := s.lookAt(ctx, a, turn, st, lookAt{keys: keys})
	if err != nil || seen == 0 && len(keys) > 0 {
		return true, err
	}
	keys = keys[:seen]
	last, done := at.To, len(keys) == 0
	if !done {
		last = &keys[len(keys)-1]
	}
	if done {
		if err := s.announce(ctx, a); err != nil {
			return false, err
		}
	}
	if err := s.Store.SaveScan(ctx, turn, last, len(keys), done); err != nil || done {
		return false, err
	}
	now := s.Now()
	st.slow = now.Add(st.afterwards(now.Sub(begun)))
	return !now.Before(st.slow), nil
}

// announce notifies the owner of a table's errors, once, of what became of the rows that were there:
// nobody is notified of any of them. A table that is read again, because its triggers were repaired
// or it moved to another table of the policy, was announced before.
func (s *Service) announce(ctx context.Context, a *Target) error {
	if !a.GovernedAt.IsZero() {
		return nil
	}
	sum, err := s.Store.SumAdoption(ctx, a.ID)
	if err != nil || sum.Rows == 0 {
		return err
	}
	p := s.Engine.Policies.Current()
	table, known := p.Table(a.Table)
	if !known {
		table = p.OrphanTable
	}
	_, err = s.Store.AddNotices(ctx, s.Now(), []wire.Notice{{
		Kind: wire.NoticeAdopted, To: table.Owner(1), Key: fmt.Sprintf("adopted:%d:%d", a.ID, a.BegunAt.UnixMicro()), Body: recoup.EncodeJSON(map[string]any{"adopted": sum}),
	}})
	return err
}

// afterwards is how long the backfill rests behind a batch: a quarter of the time that it
// took. One that took twice as long as the fastest was slow because others are busy, who
// get as much time again.
func (st *state) afterwards(took time.Duration) time.Duration {
	if st.fastest == 0 || took < st.fastest {
		st.fastest = took
	}
	if took > 2*st.fastest {
		return took
	}
	return took / 4
}

// waits reports whether what is not urgent has to wait: for the rest that it owes, or for a
// standby.
func (s *Service) waits(ctx context.Context, st *state) (bool, error) {
	now := s.Now()
	if now.Before(st.slow) {
		return true, nil
	}
	lag, err := s.Store.ReplicationLag(ctx)
	if err == nil && lag > maxLag {
		st.slow = now.Add(lagPause)
		return true, nil
	}
	return false, err
}
