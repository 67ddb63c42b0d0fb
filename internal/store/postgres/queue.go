package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// claimWork serves lane by lane, and in each the new work and every replay that
// runs, so that what is held back is in nobody's way. Of each as many are locked
// as may be needed, and the longest due of all are taken.
var claimWork = `
	select ` + names(queueColumns, "w.") + ` from (
		select l.pipeline, l.stage, r.replay_id from unnest($1::text[], $2::text[]) as l (pipeline, stage)
		cross join (
			select '00000000-0000-0000-0000-000000000000'::uuid as replay_id
			union all select replay_id from recoup.replay where state = 'RUNNING') r
		where not exists (select from recoup.work_pause p where p.error_class = '' and p.pipeline in ('', l.pipeline)
			and p.stage in ('', l.stage) and (p.until is null or p.until > ` + clockOr("$3") + `))) l
	cross join lateral (
		select * from recoup.work w
		where w.pipeline = l.pipeline and w.stage = l.stage
			and coalesce(w.replay_id, '00000000-0000-0000-0000-000000000000') = l.replay_id and w.due_at <= ` + clockOr("$3") + `
			and not exists (select from recoup.work_pause p where p.error_class = w.error_class and p.pipeline in ('', w.pipeline)
				and p.stage in ('', w.stage) and (p.until is null or p.until > ` + clockOr("$3") + `))
		order by w.due_at, w.work_id limit $4 for update of w skip locked) w
	order by w.due_at, w.work_id limit $4`

// ClaimWork leases work that is due, the longest due first. Rows that another
// claimer holds at this moment are passed over.
func (s *Store) ClaimWork(ctx context.Context, claim store.WorkClaim) ([]store.QueuedWork, error) {
	if claim.Limit <= 0 || len(claim.Lanes) == 0 {
		return nil, nil
	}
	pipelines, stages := make([]string, len(claim.Lanes)), make([]string, len(claim.Lanes))
	for i, lane := range claim.Lanes {
		pipelines[i], stages[i] = lane.Pipeline, lane.Stage
	}
	var leased []store.QueuedWork
	err := s.transact(ctx, "claim work", claim.Now, func(t *tx) error {
		var due, changed []store.QueuedWork
		collect(t.queue(claimWork, pipelines, stages, t.due(), clamp(claim.Limit)), decode(queueColumns), &due)
		if err := t.lock(ctx); err != nil {
			return err
		}
		leased, changed = store.Lease(t.now, due, claim.Decide)
		setRows(t, "recoup.work", queueColumns[:queueChanges], changed)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

// SpentWork returns work that is not due any more, oldest first.
func (s *Store) SpentWork(ctx context.Context, limit int) ([]store.QueuedWork, error) {
	rows, err := s.pool.Query(ctx, "select "+names(queueColumns, "")+
		" from recoup.work where due_at is null order by created_at, work_id limit $1", clamp(limit))
	return collectRows("read what is spent", rows, err, decode(queueColumns))
}

// SetPause pauses work.
func (s *Store) SetPause(ctx context.Context, p store.Pause) error {
	_, err := s.pool.Exec(ctx, `insert into recoup.work_pause values ($1, $2, $3, $4, $5, $6, $7)
		on conflict (pipeline, stage, error_class) do update set paused_by = excluded.paused_by, reason = excluded.reason,
			paused_at = excluded.paused_at, until = excluded.until`,
		p.Pipeline, p.Stage, string(p.Class), p.By, p.Reason, p.At, optional(p.Until))
	return failure("pause work", err)
}

// LiftPause ends a pause and reports whether there was one.
func (s *Store) LiftPause(ctx context.Context, p store.Pause) (bool, error) {
	tag, err := s.pool.Exec(ctx, "delete from recoup.work_pause where pipeline = $1 and stage = $2 and error_class = $3",
		p.Pipeline, p.Stage, string(p.Class))
	return tag.RowsAffected() > 0, failure("lift a pause", err)
}

// Pauses returns the pauses that hold at now, oldest first.
func (s *Store) Pauses(ctx context.Context, now time.Time, within *store.Pipelines) ([]store.Pause, error) {
	q := query{}
	q.add("select " + names(pauseColumns, "") + " from recoup.work_pause where (until is null or until > " + q.arg(now) + ")")
	q.among("pipeline", within)
	if within != nil {
		q.add(" and pipeline <> ''") // what names none concerns all
	}
	q.add(" order by paused_at, pipeline, stage, error_class limit " + q.arg(store.MaxPage))
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	return collectRows("read what is paused", rows, err, decode(pauseColumns))
}

// SaveCheckpoint keeps the output of a stage.
func (s *Store) SaveCheckpoint(ctx context.Context, token recoup.ID, c store.Checkpoint) error {
	return s.fenced(ctx, "save a checkpoint", token, c.WorkID, c.At, func(t *tx) {
		addRows(t, "recoup.checkpoint", checkpointColumns, []store.Checkpoint{c}, ` on conflict (work_id, stage) do update
			set key_id = excluded.key_id, sealed = excluded.sealed, at = excluded.at`)
	})
}

// ForgetCheckpoints deletes the checkpoints of a piece of work.
func (s *Store) ForgetCheckpoints(ctx context.Context, token, work recoup.ID) error {
	return s.fenced(ctx, "forget checkpoints", token, work, time.Time{}, func(t *tx) {
		t.queue("delete from recoup.checkpoint where work_id = $1", work[:])
	})
}

// fenced does what only the holder of a lease may. The place of the work in the
// queue is held meanwhile, so that nobody can claim it.
func (s *Store) fenced(ctx context.Context, what string, token, work recoup.ID, now time.Time, do func(*tx)) error {
	var lost error
	err := s.transact(ctx, what, now, func(t *tx) error {
		var held []store.QueuedWork
		lost = nil
		collect(t.queue("select "+names(queueColumns, "")+" from recoup.work where work_id = $1 for share", work[:]), decode(queueColumns), &held)
		if err := t.send(ctx); err != nil {
			return err
		}
		if lost = store.Fence(held, token); lost == nil {
			do(t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return lost
}

// PurgeCheckpoints deletes checkpoints of work that ended elsewhere.
func (s *Store) PurgeCheckpoints(ctx context.Context, before time.Time, limit int) (int, error) {
	tag, err := s.pool.Exec(ctx, `delete from recoup.checkpoint where (work_id, stage) in (
		select work_id, stage from recoup.checkpoint c where at < $1
			and not exists (select from recoup.work w where w.work_id = c.work_id)
			and (select 1 from recoup.dead_letter d where d.work_id = c.work_id and d.closed_at is null limit 1) is null
		order by at limit $2)`, before, clamp(limit))
	return int(tag.RowsAffected()), failure("purge checkpoints", err)
}

// Checkpoints returns the outputs of finished stages in the order in which they
// were saved.
func (s *Store) Checkpoints(ctx context.Context, work recoup.ID) ([]store.Checkpoint, error) {
	rows, err := s.pool.Query(ctx, "select "+names(checkpointColumns, "")+
		" from recoup.checkpoint where work_id = $1 order by at, stage limit $2", work[:], store.MaxPage)
	return collectRows("read checkpoints", rows, err, decode(checkpointColumns))
}

// Payload returns the payload of a piece of work.
func (s *Store) Payload(ctx context.Context, work recoup.ID) (store.Payload, error) {
	rows, err := s.pool.Query(ctx, "select "+names(payloadColumns, "")+" from recoup.work_payload where work_id = $1", work[:])
	list, err := collectRows("read a payload", rows, err, decode(payloadColumns))
	return one(list, err, "payload "+work.String())
}

// Payloads returns the payloads of those pieces of work that have one.
func (s *Store) Payloads(ctx context.Context, works []recoup.ID) ([]store.Payload, error) {
	rows, err := s.pool.Query(ctx, "select "+names(payloadColumns, "")+" from recoup.work_payload where work_id = any ($1::uuid[])", raw(works))
	return collectRows("read payloads", rows, err, decode(payloadColumns))
}

// FoldLetterCounts replaces appended deltas by their sums.
func (s *Store) FoldLetterCounts(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue(`with old as (delete from recoup.replay_count returning replay_id, phase, state, n)
		insert into recoup.replay_count
		select replay_id, phase, state, sum(n) from old group by 1, 2, 3 having sum(n) <> 0`)
	batch.Queue(`with old as (delete from recoup.dead_letter_count returning group_id, day, arrived, open)
		insert into recoup.dead_letter_count
		select group_id, day, sum(arrived), sum(open) from old group by 1, 2 having sum(arrived) <> 0 or sum(open) <> 0`)
	batch.Queue(`with old as (delete from recoup.dead_letter_level returning pipeline, error_class, step, n)
		insert into recoup.dead_letter_level
		select pipeline, error_class, step, sum(n) from old group by 1, 2, 3 having sum(n) <> 0`)
	batch.Queue(`with old as (delete from recoup.replay_outcome returning state, n)
		insert into recoup.replay_outcome select state, sum(n) from old group by 1`)
	return failure("fold counts of dead letters", s.pool.SendBatch(ctx, batch).Close())
}
