package sqlops

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

var silences = table(store.Silences, "silence")

// AddSilence adds a silence.
func (v Ops) AddSilence(ctx context.Context, s recoup.Silence, by store.Act) (recoup.Silence, error) {
	s = by.AddSilence(s)
	return act(ctx, v, "add a silence", func(tx Tx) (recoup.Silence, error) {
		added, err := silences.addNew(tx, s)
		if err == nil && !added {
			err = fmt.Errorf("silence %v: %w", s.ID, store.ErrConflict)
		}
		if err != nil {
			return s, err
		}
		return s, audits.add(tx, by.OnSilence(store.ActSilenceAdd, &s))
	})
}

// EndSilence ends a silence before its time. One that is over stays as it is.
func (v Ops) EndSilence(ctx context.Context, id recoup.ID, by store.Act) (recoup.Silence, error) {
	return act(ctx, v, "end a silence", func(tx Tx) (recoup.Silence, error) {
		current, err := silences.lock(tx, id, id.String())
		if err != nil {
			return current, err
		}
		ended := by.EndSilence(current)
		if ended == current {
			return ended, nil
		}
		if err := silences.set(tx, ended); err != nil {
			return ended, err
		}
		return ended, audits.add(tx, by.OnSilence(store.ActSilenceEnd, &ended))
	})
}

// Silences lists the silences that hold at a time, or all, newest first.
func (v Ops) Silences(ctx context.Context, activeAt time.Time, p store.Page) ([]recoup.Silence, store.Cursor, error) {
	return silences.page(ctx, v, silencesQuery(activeAt, p), p, func(s *recoup.Silence) store.Cursor { return store.Cursor{At: s.At, ID: s.ID} })
}

func silencesQuery(activeAt time.Time, p store.Page) *Query {
	q := silences.ask("list silences", "where true")
	if !activeAt.IsZero() {
		q = silences.ask("list silences", "/*by silence_until_idx*/ where ended_at is null and until > $1", activeAt)
	}
	return q.newest("created_at", "silence_id", p)
}
