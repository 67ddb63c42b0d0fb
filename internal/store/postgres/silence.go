package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

var selectSilence = "select " + names(silenceColumns, "") + " from recoup.silence"

// AddSilence adds a silence.
func (s *Store) AddSilence(ctx context.Context, silence store.Silence, act store.Act) (store.Silence, error) {
	silence = silence.Made(act)
	err := s.transact(ctx, "add a silence", time.Time{}, func(t *tx) error {
		var added []recoup.ID
		b := newBatch(silenceColumns, []*store.Silence{&silence})
		collect(t.queue(b.insert("recoup.silence")+" on conflict do nothing returning silence_id", b.args...), pgx.RowTo[recoup.ID], &added)
		if err := t.send(ctx); err != nil {
			return err
		}
		if len(added) == 0 {
			return fmt.Errorf("silence %v: %w", silence.ID, store.ErrConflict)
		}
		audit(t, act.On(store.ActSilenceAdd, silence.ID.String(), silence.About()))
		return nil
	})
	if err != nil {
		return store.Silence{}, err
	}
	return silence, nil
}

// EndSilence ends a silence before its time. One that is over stays as it is.
func (s *Store) EndSilence(ctx context.Context, id recoup.ID, act store.Act) (ended store.Silence, err error) {
	err = s.transact(ctx, "end a silence", time.Time{}, func(t *tx) error {
		var found []store.Silence
		collect(t.queue(selectSilence+" where silence_id = $1 for no key update", id[:]), decode(silenceColumns), &found)
		if err := t.send(ctx); err != nil {
			return err
		}
		current, err := one(found, nil, "silence "+id.String())
		if err != nil {
			return err
		}
		if ended = current.Ended(act); ended != current {
			setRows(t, "recoup.silence", silenceColumns, []store.Silence{ended})
			audit(t, act.On(store.ActSilenceEnd, id.String(), ended.About()))
		}
		return nil
	})
	if err != nil {
		return store.Silence{}, err
	}
	return ended, nil
}

// Silences lists the silences that hold at a time, or all, newest first.
func (s *Store) Silences(ctx context.Context, activeAt time.Time, p store.Page) ([]store.Silence, store.Cursor, error) {
	q := &query{}
	q.add(selectSilence + " where true")
	if !activeAt.IsZero() {
		q.add(" and ended_at is null and until > " + q.arg(activeAt))
	}
	if !p.Cursor.IsZero() {
		q.add(" and (created_at, silence_id) < (" + q.arg(p.Cursor.At) + ", " + q.arg(p.Cursor.ID[:]) + ")")
	}
	q.add(" order by created_at desc, silence_id desc limit " + q.arg(p.Size()))
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list silences", rows, err, decode(silenceColumns))
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.At, ID: last.ID}, nil
}
