package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/verb"
)

const (

	// selectEndable are items that wait for their outcome and that nobody holds.
	selectEndable = `
		select error_id from (
			(select i.error_id from recoup.replay_item i left join recoup.work w on w.work_id = i.work_id
				where i.replay_id = $1 and i.state = 'RELEASED' and (w.lease_ends_at is null or w.lease_ends_at <= coalesce($2::timestamptz, recoup.clock()))
				order by i.position limit $3)
			union all
			(select error_id from recoup.replay_item where replay_id = $1 and state = 'PENDING' order by position limit $3)) i
		limit $3`
)

var (
	// releaseItems puts the next items of a replay into the queue. What was
	// archived at this moment is left out.
	releaseItems = `
		with released as (
			update recoup.replay_item i set state = 'RELEASED', phase = $3, released_at = $4
			where i.replay_id = $1 and i.state = 'PENDING' and i.position = any (array(
				select position from recoup.replay_item
				where replay_id = $1 and state = 'PENDING' order by position limit $2 for update skip locked))
			returning i.work_id, i.error_id, i.stage),
		queued as (
			insert into recoup.work (work_id, pipeline, stage, error_class, replay_id, error_id, payload_ref, payload_hash, created_at, due_at)
			select r.work_id, d.pipeline, r.stage, d.error_class, $1, r.error_id, d.payload_ref, d.payload_hash, $4, $4
			from released r join recoup.dead_letter d using (error_id)
			returning pipeline, stage, replay_id, due_at, work_id)
		insert into recoup.work_due (turn, pipeline, stage, replay_id, due_at, work_id)
		select ` + turnOf("due_at") + `, pipeline, stage, replay_id, due_at, work_id from queued`
)

// AddMembers adds members to a replay and keeps the cursor.
func (s *Store) AddMembers(ctx context.Context, now time.Time, m store.Members) ([]store.LetterOutcome, error) {
	ids := m.ErrorIDs[:min(len(m.ErrorIDs), store.MaxPage)]
	outcomes := make([]store.LetterOutcome, len(ids))
	err := s.transact(ctx, "add members to a replay", now, func(t *tx) error {
		current, err := verb.LockedReplay(&act{t, ctx}, m.ReplayID)
		if err != nil {
			return err
		}
		l, err := s.lockLetters(ctx, t, ids)
		if err != nil {
			return err
		}
		replay := current.Replay
		for i := range ids {
			outcomes[i] = l.Join(&replay, store.LetterStep{ErrorID: ids[i], Decide: m.Decide})
		}
		s.writeLetters(t, l, newBatches(nil))
		replay.Cursor = m.Cursor
		setRows(t, "recoup.replay", replayColumns, []store.Replay{replay})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// StepReplay applies an input to a replay and puts the items that it releases
// into the queue.
func (s *Store) StepReplay(ctx context.Context, now time.Time, id recoup.ID, decide store.DecideReplay) (store.ReplayStatus, error) {
	var status store.ReplayStatus
	var refused error
	err := s.transact(ctx, "step a replay", now, func(t *tx) error {
		current, err := verb.LockedReplay(&act{t, ctx}, id)
		if err != nil {
			return err
		}
		var next store.Replay
		var effects store.ReplayEffects
		if next, effects, refused = decide(current, t.now); refused != nil {
			next, effects = current.Replay, store.ReplayEffects{}
		}
		if next != current.Replay {
			setRows(t, "recoup.replay", replayColumns, []store.Replay{next})
		}
		if effects.Release > 0 {
			t.queue(releaseItems, id[:], clamp(effects.Release), next.Phase, t.now)
			t.wake(store.WakeWork)
		}
		addRows(t, "recoup.dead_letter_note", noteColumns, effects.Notes, "")
		if len(effects.Notices) > 0 {
			addNotices(t, t.now, effects.Notices)
		}
		status, err = verb.LockedReplay(&act{t, ctx}, id)
		return err
	})
	if err != nil {
		return store.ReplayStatus{}, err
	}
	return status, refused
}

// EndItems applies an input to items that wait for their outcome and that no
// worker holds. Whether they still do is asked again when they are locked.
func (s *Store) EndItems(ctx context.Context, now time.Time, id recoup.ID, limit int, decide store.DecideLetter) (ended int, err error) {
	err = s.transact(ctx, "end items of a replay", now, func(t *tx) error {
		ended = 0
		var ids []recoup.ID
		collect(t.queue(selectEndable, id[:], t.due(), clamp(limit)), pgx.RowTo[recoup.ID], &ids)
		if err := t.send(ctx); err != nil || len(ids) == 0 {
			return err
		}
		l, err := s.lockLetters(ctx, t, ids)
		if err != nil {
			return err
		}
		ended = l.End(id, ids, decide)
		s.writeLetters(t, l, newBatches(nil))
		return nil
	})
	return ended, err
}

// PurgeReplays deletes items of replays that have ended before a time, and the
// replays of which none is left.
func (s *Store) PurgeReplays(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.pool.QueryRow(ctx, "select recoup.purge_replays($1, $2)", before, clamp(limit)).Scan(&n)
	return n, failure("purge replays", err)
}

// past goes on from a cursor in a list that runs from new to old.
func (q *query) past(columns string, c store.Cursor) {
	if !c.IsZero() {
		q.add(" and (" + columns + ") < (" + q.arg(c.At) + ", " + q.arg(c.ID[:]) + ")")
	}
}

// lastOf is where a list goes on after this page, or nowhere.
func lastOf[R any](list []R, p store.Page, at func(*R) store.Cursor) store.Cursor {
	if len(list) < p.Size() {
		return store.Cursor{}
	}
	return at(&list[len(list)-1])
}
