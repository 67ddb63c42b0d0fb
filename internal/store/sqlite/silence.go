package sqlite

import (
	"context"
	"fmt"
	"math"
	"time"

	"recoup"
	"recoup/internal/store"
)

const (
	silenceColumns = `silence_id, rule, scope, until, reason, created_at, created_by, ended_at, ended_by`

	selectSilence   = `select ` + silenceColumns + ` from silence`
	selectSilenceOf = selectSilence + ` where silence_id = ?`
	endSilence      = `update silence set ended_at = ?2, ended_by = ?3 where silence_id = ?1`

	// The lists: ?1 and ?2 are the cursor, ?3 the size, ?4 the time.
	selectSilences       = selectSilence + ` where (created_at, silence_id) < (?1, ?2) order by created_at desc, silence_id desc limit 0 + ?3`
	selectActiveSilences = selectSilence + ` indexed by silence_until_idx where ended_at is null and until > ?4
		and (created_at, silence_id) < (?1, ?2) order by created_at desc, silence_id desc limit 0 + ?3`
)

func silenceFields(s *store.Silence) []any {
	return []any{
		id{&s.ID}, text[string]{&s.Rule}, text[string]{&s.Scope}, stamp{&s.Until}, text[string]{&s.Reason},
		stamp{&s.At}, text[string]{&s.By}, stamp{&s.EndedAt}, text[string]{&s.EndedBy},
	}
}

// AddSilence adds a silence.
func (s *Store) AddSilence(ctx context.Context, silence store.Silence, act store.Act) (store.Silence, error) {
	silence = silence.Made(act)
	err := s.writer.do(ctx, func(tx *tx) error {
		known, err := collectAll(tx, silenceFields, selectSilenceOf, id{&silence.ID})
		if err != nil {
			return err
		}
		if len(known) > 0 {
			return fmt.Errorf("silence %v: %w", silence.ID, store.ErrConflict)
		}
		if err := tx.exec(addTo("silence", silenceColumns), silenceFields(&silence)...); err != nil {
			return err
		}
		return tx.audit(act.On(store.ActSilenceAdd, silence.ID.String(), silence.About()))
	})
	if err != nil {
		return store.Silence{}, err
	}
	return silence, nil
}

// EndSilence ends a silence before its time. One that is over stays as it is.
func (s *Store) EndSilence(ctx context.Context, silenceID recoup.ID, act store.Act) (ended store.Silence, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		found, err := collectAll(tx, silenceFields, selectSilenceOf, id{&silenceID})
		current, err := one(found, err, "silence "+silenceID.String())
		if err != nil {
			return err
		}
		if ended = current.Ended(act); ended == current {
			return nil
		}
		if err := tx.exec(endSilence, id{&ended.ID}, stamp{&ended.EndedAt}, text[string]{&ended.EndedBy}); err != nil {
			return err
		}
		return tx.audit(act.On(store.ActSilenceEnd, silenceID.String(), ended.About()))
	})
	if err != nil {
		return store.Silence{}, err
	}
	return ended, nil
}

// Silences lists the silences that hold at a time, or all, newest first.
func (s *Store) Silences(ctx context.Context, activeAt time.Time, p store.Page) ([]store.Silence, store.Cursor, error) {
	text, args := selectSilences, []any{from(p.Cursor.At, math.MaxInt64), p.Cursor.ID[:], p.Size()}
	if !activeAt.IsZero() {
		text, args = selectActiveSilences, append(args, micros(activeAt))
	}
	list, err := query(ctx, s, silenceFields, text, args...)
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.At, ID: last.ID}, nil
}
