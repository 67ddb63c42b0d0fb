package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// selectUnclaimed looks at the front of a table's stretch of the queue, as
	// selectDue does. An expired lease is none of it: the leader ends the attempt and
	// makes the error due anew.
	selectUnclaimed = `select count(*), min(next_retry_at) from (select next_retry_at from error indexed by error_due_idx
		where table_name = ?1 and state = 'RETRY_PENDING' and lease_token is null and next_retry_at <= ?2
		and (expires_at is null or expires_at > ?2) and (retry_window_ends_at is null or retry_window_ends_at >= ?2)
		order by next_retry_at limit 0 + ?3)`

	// selectUnclaimedWork looks at the front of a stretch of a lane, as selectDueWork
	// does.
	selectUnclaimedWork = `select count(*), min(due_at) from (select due_at from work w indexed by work_due_idx
		where pipeline = ?1 and stage = ?2 and coalesce(replay_id, x'00') = ?3 and due_at <= ?4
		and not exists (select 1 from work_pause p where p.error_class = w.error_class and p.pipeline in ('', w.pipeline)
			and p.stage in ('', w.stage) and (p.until is null or p.until > ?4))
		order by due_at limit 0 + ?5)`
)

// Unclaimed implements [sqlops.DB].
func (d database) Unclaimed(ctx context.Context, now time.Time, tables []string, lanes []recoup.Lane, limit int) (list []store.Unclaimed, err error) {
	for _, table := range tables {
		u := store.Unclaimed{Table: table}
		if err := d.countUnclaimed(ctx, &u, selectUnclaimed, table, micros(now), limit); err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	for _, lane := range lanes {
		stretches, err := query(ctx, d.Store, func(b *[]byte) []any { return []any{b} }, selectLanes, lane.Pipeline, lane.Stage, micros(now))
		if err != nil {
			return nil, err
		}
		u := store.Unclaimed{Lane: lane}
		for _, replay := range stretches {
			if err := d.countUnclaimed(ctx, &u, selectUnclaimedWork, lane.Pipeline, lane.Stage, replay, micros(now), limit); err != nil {
				return nil, err
			}
		}
		list = append(list, u)
	}
	return slices.DeleteFunc(list, func(u store.Unclaimed) bool { return u.N == 0 }), nil
}

// countUnclaimed adds what one stretch of the queue has.
func (d database) countUnclaimed(ctx context.Context, u *store.Unclaimed, text string, args ...any) error {
	found, err := query(ctx, d.Store, func(u *store.Unclaimed) []any { return []any{&u.N, stamp{&u.Since}} }, text, args...)
	if err != nil {
		return err
	}
	if front := found[0]; front.N > 0 && (u.N == 0 || front.Since.Before(u.Since)) {
		u.Since = front.Since
	}
	u.N += found[0].N
	return nil
}

// Blockers implements [sqlops.DB]: no slice has any here.
func (d database) Blockers(context.Context, string) ([]recoup.Error, error) { return nil, nil }
