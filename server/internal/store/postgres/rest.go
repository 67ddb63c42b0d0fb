package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// rest is whether the node of a store rests, which keeps a serverless database from waking.
type rest struct {
	resting atomic.Bool
	deaf    atomic.Bool   // the connection that listens was lost meanwhile
	reached chan struct{} // the database answers: the connection can be made again
}

// Rest implements [store.Rester].
func (s *Store) Rest(resting bool) {
	s.rest.resting.Store(resting)
	if !resting {
		s.rest.reach()
	}
}

// reach has the connection that listens made again, if it was lost.
func (r *rest) reach() {
	if !r.deaf.Load() {
		return
	}
	select {
	case r.reached <- struct{}{}:
	default:
	}
}

// wait waits while the node rests until something else has reached the database.
func (r *rest) wait(ctx context.Context) {
	r.deaf.Store(true)
	defer r.deaf.Store(false)
	if !r.resting.Load() {
		return
	}
	select {
	case <-r.reached:
	case <-ctx.Done():
	}
}

// Announce implements [store.Rester].
func (s *Store) Announce(kinds ...string) { s.notifier.Notify(kinds...) }

// lastTime is after everything that is due at a time.
var lastTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// selectNextDue reads the front of an index for each kind, and what slices add. Events that the
// ledger could not take are due until they are delivered.
func selectNextDue(also []string) string {
	return `
	with due (at) as (` + sqlops.FirstDue(also...) + `)
	select recoup.clock(), exists (select from recoup.event_late), least((select min(at) from due), $1)`
}

// unpinged marks the context of a look, whose connection is not asked first whether it is
// there: that would be a second transaction.
type unpinged struct{}

// pingIdle has a connection that nobody has used for a second asked whether it is there.
func pingIdle(ctx context.Context, p pgxpool.ShouldPingParams) bool {
	return p.IdleDuration > time.Second && ctx.Value(unpinged{}) == nil
}

// NextDue implements [store.Rester] in one transaction.
func (s *Store) NextDue(ctx context.Context, also ...string) (store.NextDue, error) {
	text := selectNextDue(also)
	found, err := s.nextDue(context.WithValue(ctx, unpinged{}, true), text)
	if err != nil && ctx.Err() == nil { // a connection that was closed meanwhile
		found, err = s.nextDue(ctx, text)
	}
	if err == nil {
		s.rest.reach()
	}
	return found, err
}

func (s *Store) nextDue(ctx context.Context, text string) (found store.NextDue, err error) {
	var now, at time.Time
	var waiting bool
	if err := s.pool.QueryRow(ctx, text, lastTime).Scan(&now, &waiting, &at); err != nil {
		return found, failure("look for what is due next", err)
	}
	if s.clock != nil {
		now = s.clock()
	}
	found = store.NextDue{Any: at.Before(lastTime), In: at.Sub(now), Silent: s.Polls()}
	if waiting {
		found.Any, found.In = true, 0
	}
	return found, nil
}
