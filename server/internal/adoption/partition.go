package adoption

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// tendEvery is how often the partitions of a source are looked at.
const tendEvery = 15 * time.Second

// tends reports whether it is time to look at the partitions of a source.
func (s *Service) tends(a *Target, st *state) bool {
	return a.Partitioned && a.State != wire.AdoptionReleasing && s.Now().Sub(st.tended) >= tendEvery
}

// tend adds triggers to partitions that were created or attached since the last look.
func (s *Service) tend(ctx context.Context, a *Target, turn Lease, st *state) error {
	if !s.tends(a, st) {
		return nil
	}
	st.tended = s.Now()
	return s.Store.TendPartitions(ctx, turn)
}
