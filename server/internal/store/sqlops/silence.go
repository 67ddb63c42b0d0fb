package sqlops

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var silences = sqldb.NewRepository(store.Silences, "silence")

// AddSilence adds a silence.
func (v Ops) AddSilence(ctx context.Context, s wire.Silence, by store.Act) (wire.Silence, error) {
	s = by.AddSilence(s)
	return sqldb.Act(ctx, v.db, "add a silence", func(tx Tx) (wire.Silence, error) {
		added, err := silences.InsertNew(tx, s)
		if err == nil && !added {
			err = fmt.Errorf("silence %v: %w", s.ID, store.ErrConflict)
		}
		if err != nil {
			return s, err
		}
		return s, audits.Add(tx, by.OnSilence(store.ActSilenceAdd, &s))
	})
}

// EndSilence ends a silence before its time. One that is over stays as it is.
func (v Ops) EndSilence(ctx context.Context, id recoup.ID, by store.Act) (wire.Silence, error) {
	return sqldb.Act(ctx, v.db, "end a silence", func(tx Tx) (wire.Silence, error) {
		current, err := silences.Lock(tx, id, id.String())
		if err != nil {
			return current, err
		}
		ended := by.EndSilence(current)
		if ended == current {
			return ended, nil
		}
		if err := silences.Update(tx, ended); err != nil {
			return ended, err
		}
		return ended, audits.Add(tx, by.OnSilence(store.ActSilenceEnd, &ended))
	})
}

// Silences lists the silences that hold at a time, or all, newest first.
func (v Ops) Silences(ctx context.Context, activeAt time.Time, p sqldb.Page) ([]wire.Silence, sqldb.Cursor, error) {
	return silences.Page(ctx, v.db, silencesQuery(activeAt, p), p, func(s *wire.Silence) sqldb.Cursor { return sqldb.Cursor{At: s.At, ID: s.ID} })
}

func silencesQuery(activeAt time.Time, p sqldb.Page) *sqldb.Query {
	q := silences.Select("list silences", "where true")
	if !activeAt.IsZero() {
		q = silences.Select("list silences", "/*by silence_until_idx*/ where ended_at is null and until > $1", activeAt)
	}
	return q.Newest("created_at", "silence_id", p)
}
