package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var heartbeats = sqldb.NewRepository(store.Heartbeats, "heartbeat")

// SaveHeartbeats writes which workers claim on a node.
func (v Ops) SaveHeartbeats(ctx context.Context, beats []store.Heartbeat) error {
	if len(beats) == 0 {
		return nil
	}
	return v.db.Act(ctx, "save heartbeats", time.Time{}, func(tx Tx) error { return heartbeats.Upsert(tx, beats...) })
}

// PurgeHeartbeats deletes heartbeats that ended before a time.
func (v Ops) PurgeHeartbeats(ctx context.Context, before time.Time, limit int) (int, error) {
	return sqldb.Act(ctx, v.db, "purge heartbeats", func(tx Tx) (int, error) {
		return tx.Change(`delete from recoup.worker_heartbeat where (queue, node) in (
			select queue, node from recoup.worker_heartbeat where last_claim_at < $1 order by last_claim_at limit $2)`, []any{before, sqldb.Clamp(limit)})
	})
}

// QueueLevels says what waits for workers, and who claims.
func (v Ops) QueueLevels(ctx context.Context, now time.Time, tables []string) ([]store.QueueLevel, error) {
	lanes, err := v.db.Lanes(ctx, store.MaxLaneWalk)
	if err != nil {
		return nil, err
	}
	waiting, err := v.db.Unclaimed(ctx, now, tables, lanes, store.MaxFigure/max(len(tables)+len(lanes), 1))
	if err != nil {
		return nil, err
	}
	beats, err := heartbeats.List(ctx, v.db, heartbeats.Select("read heartbeats", "order by last_claim_at desc limit $1", store.MaxHeartbeats))
	return store.QueueLevels(now, tables, waiting, beats), err
}
