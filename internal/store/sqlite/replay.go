package sqlite

import (
	"context"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/verb"
)

const (
	// selectNext are the positions of the items that are released next.
	selectNext = `select position from replay_item where replay_id = ? and state = 'PENDING' order by position limit 0 + ?`

	releaseItem = `update replay_item set state = 'RELEASED', phase = ?3, released_at = ?4 where replay_id = ?1 and position = ?2`
	queueItem   = `insert into work (work_id, pipeline, stage, error_class, replay_id, error_id, payload_ref, payload_hash, created_at, due_at)
		select i.work_id, d.pipeline, i.stage, d.error_class, ?1, i.error_id, d.payload_ref, d.payload_hash, ?3, ?3
		from replay_item i join dead_letter d on d.error_id = i.error_id where i.replay_id = ?1 and i.position = ?2`

	// selectEndable are items that wait for their outcome and that nobody holds.
	selectEndable = `select error_id from (
			select * from (select i.error_id from replay_item i left join work w on w.work_id = i.work_id
				where i.replay_id = ?1 and i.state = 'RELEASED' and (w.lease_ends_at is null or w.lease_ends_at <= ?2)
				order by i.position limit 0 + ?3)
			union all
			select * from (select error_id from replay_item where replay_id = ?1 and state = 'PENDING' order by position limit 0 + ?3))
		limit 0 + ?3`

	purgeItems = `delete from replay_item where (replay_id, position) in (select i.replay_id, i.position
		from replay r join replay_item i on i.replay_id = r.replay_id where r.ended_at <= ? order by r.ended_at limit 0 + ?)`
	purgeEmpty = `select replay_id from replay r where ended_at <= ?
		and not exists (select 1 from replay_item i where i.replay_id = r.replay_id) limit 0 + ?`
)

func (t *tx) replay(key recoup.ID) (store.ReplayStatus, error) {
	return verb.LockedReplay(act{t}, key)
}

// AddMembers adds members to a replay and keeps the cursor.
func (s *Store) AddMembers(ctx context.Context, now time.Time, m store.Members) ([]store.LetterOutcome, error) {
	ids := m.ErrorIDs[:min(len(m.ErrorIDs), store.MaxPage)]
	outcomes := make([]store.LetterOutcome, len(ids))
	err := s.writer.doAt(ctx, now, func(tx *tx) error {
		current, err := tx.replay(m.ReplayID)
		if err != nil {
			return err
		}
		l, err := tx.loadLetters(ids, nil)
		if err != nil {
			return err
		}
		replay := current.Replay
		for i := range ids {
			outcomes[i] = l.Join(&replay, store.LetterStep{ErrorID: ids[i], Decide: m.Decide})
		}
		if err := tx.saveLetters(l); err != nil {
			return err
		}
		replay.Cursor = m.Cursor
		return set(tx, store.Replays, []store.Replay{replay})
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// StepReplay applies an input to a replay and puts the items that it releases
// into the queue.
func (s *Store) StepReplay(ctx context.Context, now time.Time, key recoup.ID, decide store.DecideReplay) (store.ReplayStatus, error) {
	var status store.ReplayStatus
	var refused error
	err := s.writer.doAt(ctx, now, func(tx *tx) (err error) {
		if status, err = tx.replay(key); err != nil {
			return err
		}
		var next store.Replay
		var effects store.ReplayEffects
		if next, effects, refused = decide(status, tx.now); refused != nil {
			next, effects = status.Replay, store.ReplayEffects{}
		}
		if next != status.Replay {
			if err := set(tx, store.Replays, []store.Replay{next}); err != nil {
				return err
			}
		}
		if err := tx.release(next, effects.Release); err != nil {
			return err
		}
		if err := add(tx, store.Notes, effects.Notes); err != nil {
			return err
		}
		if _, err := verb.AddNotices(act{tx}, tx.now, effects.Notices); err != nil {
			return err
		}
		status, err = tx.replay(key)
		return err
	})
	if err != nil {
		return store.ReplayStatus{}, err
	}
	return status, refused
}

// release puts the next items of a replay into the queue.
func (t *tx) release(r store.Replay, n int) error {
	if n <= 0 {
		return nil
	}
	next, err := collectAll(t, func(p *int) []any { return []any{p} }, selectNext, id{&r.ID}, store.Page{Limit: n}.Size())
	if err != nil {
		return err
	}
	t.wake(store.WakeWork)
	for _, position := range next {
		if err := t.exec(releaseItem, id{&r.ID}, position, r.Phase, micros(t.now)); err != nil {
			return err
		}
		if err := t.exec(queueItem, id{&r.ID}, position, micros(t.now)); err != nil {
			return err
		}
	}
	return nil
}

// EndItems applies an input to items that wait for their outcome and that no
// worker holds.
func (s *Store) EndItems(ctx context.Context, now time.Time, key recoup.ID, limit int, decide store.DecideLetter) (ended int, err error) {
	err = s.writer.doAt(ctx, now, func(tx *tx) error {
		ids, err := collectAll(tx, idField, selectEndable, id{&key}, micros(tx.now), store.Page{Limit: limit}.Size())
		if err != nil {
			return err
		}
		l, err := tx.loadLetters(ids, nil)
		if err != nil {
			return err
		}
		ended = l.End(key, ids, decide)
		return tx.saveLetters(l)
	})
	if err != nil {
		return 0, err
	}
	return ended, nil
}

// PurgeReplays deletes items of replays that have ended before a time, and the
// replays of which none is left.
func (s *Store) PurgeReplays(ctx context.Context, before time.Time, limit int) (n int, err error) {
	size := store.Page{Limit: limit}.Size()
	err = s.writer.do(ctx, func(tx *tx) error {
		if err := tx.exec(`update retention set replays_until = ?`, micros(before)); err != nil {
			return err
		}
		if n, err = tx.change(purgeItems, micros(before), size); err != nil {
			return err
		}
		empty, err := collectAll(tx, idField, purgeEmpty, micros(before), size)
		if err != nil {
			return err
		}
		for _, text := range []string{
			`delete from replay where replay_id = ?`, `delete from replay_count where replay_id = ?`, `delete from dead_letter_note where replay_id = ?`,
		} {
			if err := each(tx, text, empty, idField); err != nil {
				return err
			}
		}
		return tx.exec(`update retention set replays_until = null`)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// choice is the conditions of a list. Which are set makes its text, and there
// are few such texts.
type choice struct {
	conditions string
	args       []any
}

// arg adds an argument and returns the parameter that stands for it.
func (c *choice) arg(v any) string {
	c.args = append(c.args, v)
	return parameter(len(c.args))
}

func (c *choice) require(condition string) { c.conditions += " and " + condition }

func (c *choice) equal(column, value string) {
	if value != "" {
		c.require(column + " = " + c.arg(value))
	}
}

// list adds the values of a list.
func (c *choice) list(values []string) string {
	var parameters []string
	for _, v := range values {
		parameters = append(parameters, c.arg(v))
	}
	return "(" + strings.Join(parameters, ", ") + ")"
}

// among restricts to the pipelines that a caller sees. The plus keeps the planner from
// leaving the index that has the order.
func (c *choice) among(within *store.Pipelines) {
	switch {
	case within == nil:
	case within.Except:
		c.require("+pipeline not in " + c.list(within.Names))
	default:
		c.require("+pipeline in " + c.list(within.Names))
	}
}

// newestOf picks a page. Of several pipelines a page of each is read from the index of
// pipelines, and the newest of them are taken; where there is no such index, or too
// many pipelines for a statement, from is read.
func (c *choice) newestOf(from, byPipeline, order string, within *store.Pipelines, p store.Page) string {
	limit := order + " limit 0 + " + c.arg(p.Size())
	if within == nil || within.Except || byPipeline == "" || len(within.Names) > maxArms {
		c.among(within)
		return "(select * from " + from + c.where() + limit + ")"
	}
	var arms []string
	for _, name := range within.Names {
		arms = append(arms, "select * from (select * from "+byPipeline+c.where()+" and pipeline = "+c.arg(name)+limit+")")
	}
	return "(select * from (" + strings.Join(arms, " union all ") + ")" + limit + ")"
}

// past goes on from a cursor in a list that runs from new to old.
func (c *choice) past(at, key string, cursor store.Cursor) {
	if !cursor.IsZero() {
		c.require("(" + at + ", " + key + ") < (" + c.arg(micros(cursor.At)) + ", " + c.arg(id{&cursor.ID}) + ")")
	}
}

func (c *choice) where() string { return " where true" + c.conditions }

// lastOf is where a list goes on after this page, or nowhere.
func lastOf[T any](list []T, p store.Page, at func(*T) store.Cursor) store.Cursor {
	if len(list) < p.Size() {
		return store.Cursor{}
	}
	return at(&list[len(list)-1])
}
