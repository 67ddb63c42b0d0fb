package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var (
	queue       = sqldb.NewRepository(store.WorkQueue, "work")
	payloads    = sqldb.NewRepository(store.Payloads, "payload")
	checkpoints = sqldb.NewRepository(store.Checkpoints, "checkpoint")
	pauses      = sqldb.NewRepository(store.Pauses, "pause")
)

// SetPause pauses work.
func (v Ops) SetPause(ctx context.Context, p recoup.WorkPause) error {
	return v.db.Act(ctx, "pause work", time.Time{}, func(tx Tx) error { return pauses.Upsert(tx, p) })
}

// LiftPause ends a pause and reports whether there was one.
func (v Ops) LiftPause(ctx context.Context, p recoup.PauseScope) (bool, error) {
	n, err := v.purge(ctx, "lift a pause", "delete from recoup.work_pause where pipeline = $1 and stage = $2 and error_class = $3",
		p.Pipeline, p.Stage, string(p.Class))
	return n > 0, err
}

// Pauses returns the pauses that hold at now, oldest first. What names no pipeline
// concerns all, and is for those who see all.
func (v Ops) Pauses(ctx context.Context, now time.Time, within *store.Pipelines) ([]recoup.WorkPause, error) {
	q := pauses.Select("read what is paused", "where (until is null or until > $1)", now)
	if among(q, v.db.Dialect(), within); within != nil {
		q.Add(" and pipeline <> ''")
	}
	q.Add(" order by paused_at, pipeline, stage, error_class limit " + q.Arg(sqldb.MaxPage))
	return pauses.List(ctx, v.db, q)
}

// Checkpoints returns the outputs of finished stages in the order in which they
// were saved.
func (v Ops) Checkpoints(ctx context.Context, work recoup.ID) ([]store.Checkpoint, error) {
	q := checkpoints.Select("read checkpoints", "where work_id = $1 order by at, stage limit $2", work, sqldb.MaxPage)
	return checkpoints.List(ctx, v.db, q)
}

// Payload returns the payload of a piece of work.
func (v Ops) Payload(ctx context.Context, work recoup.ID) (store.Payload, error) {
	return payloads.Get(ctx, v.db, payloads.Select("read a payload", "where work_id = $1", work), work.String())
}

// Payloads returns the payloads of those pieces of work that have one.
func (v Ops) Payloads(ctx context.Context, works []recoup.ID) ([]store.Payload, error) {
	return payloads.List(ctx, v.db, payloads.Select("read payloads", "where work_id"+v.db.Dialect().AnyID("$1"), works))
}

// SpentWork returns work that is not due any more, oldest first.
func (v Ops) SpentWork(ctx context.Context, limit int) ([]recoup.WorkItem, error) {
	return queue.List(ctx, v.db, queue.Select("read what is spent", "where due_at is null order by created_at, work_id limit $1", sqldb.Clamp(limit)))
}

// SaveCheckpoint keeps the output of a stage.
func (v Ops) SaveCheckpoint(ctx context.Context, token recoup.ID, c store.Checkpoint) error {
	return v.db.Act(ctx, "save a checkpoint", c.At, func(tx Tx) error {
		if err := tx.Fence(c.WorkID, token); err != nil {
			return err
		}
		return checkpoints.Upsert(tx, c)
	})
}

// ForgetCheckpoints deletes the checkpoints of a piece of work.
func (v Ops) ForgetCheckpoints(ctx context.Context, token, work recoup.ID) error {
	return v.db.Act(ctx, "forget checkpoints", time.Time{}, func(tx Tx) error {
		if err := tx.Fence(work, token); err != nil {
			return err
		}
		return checkpoints.Delete(tx, []recoup.ID{work})
	})
}

// PurgeCheckpoints deletes checkpoints of work that ended elsewhere.
func (v Ops) PurgeCheckpoints(ctx context.Context, before time.Time, limit int) (int, error) {
	return v.purge(ctx, "purge checkpoints", `delete from recoup.checkpoint where (work_id, stage) in (
		select work_id, stage from recoup.checkpoint c where at < $1
			and not exists (select 1 from recoup.work w where w.work_id = c.work_id)
			and (select 1 from recoup.dead_letter d where d.work_id = c.work_id and d.closed_at is null limit 1) is null
		order by at limit $2)`, before, sqldb.Clamp(limit))
}
