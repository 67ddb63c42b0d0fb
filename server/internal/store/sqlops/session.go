package sqlops

import (
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var sessions = sqldb.NewRepository(store.Sessions, "session")

// AddSession begins a session, and ends the oldest ones of a key that has too many. The key is
// locked, so that no two sign-ins both are the last that it may have.
func (v Ops) AddSession(ctx context.Context, s store.Session) error {
	_, err := sqldb.Act(ctx, v.db, "add a session", func(tx Tx) (int, error) {
		var of []wire.Key
		if err := tx.Lock(keys.Select("", "where key_hash = $1"+tx.Dialect().ForUpdate("no key update"), s.KeyHash), sqldb.Into(&of, keys.Columns)); err != nil {
			return 0, err
		}
		added, err := sessions.InsertNew(tx, s)
		if err == nil && !added {
			err = fmt.Errorf("session: %w", store.ErrConflict)
		}
		if err != nil {
			return 0, err
		}
		return tx.Change(`delete from recoup.session where session_hash in (
			select session_hash from recoup.session where key_hash = $1 and session_hash <> $2 order by created_at desc, session_hash limit 1000 offset $3)`,
			[]any{s.KeyHash, s.Hash, store.MaxSessions - 1})
	})
	return err
}

// Session returns the session of a token.
func (v Ops) Session(ctx context.Context, hash [32]byte, known bool) (store.Session, error) {
	q := sessions.Select("read a session", "where session_hash = $1", hash)
	q.Vital = known
	return sessions.Get(ctx, v.db, q, "")
}

// TouchSession notes when a session was used last.
func (v Ops) TouchSession(ctx context.Context, hash [32]byte, at time.Time) error {
	_, err := sqldb.Act(ctx, v.db, "touch a session", func(tx Tx) (int, error) {
		return tx.Change("update recoup.session set seen_at = $2 where session_hash = $1 and seen_at < $2", []any{hash, at})
	})
	return err
}

// EndSession deletes a session.
func (v Ops) EndSession(ctx context.Context, hash [32]byte) error {
	_, err := v.purge(ctx, "end a session", "delete from recoup.session where session_hash = $1", hash)
	return err
}

// PurgeSessions deletes at most limit sessions that are over, those first that ended first.
func (v Ops) PurgeSessions(ctx context.Context, now time.Time, limit int) (int, error) {
	return v.purge(ctx, "purge sessions", `delete from recoup.session where session_hash in (
		select session_hash from recoup.session where ends_at <= $1 order by ends_at limit $2)`, now, sqldb.Clamp(limit))
}
