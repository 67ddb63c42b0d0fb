package deadletter

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// The acts on a replay.
const (
	ActPause  = "pause"
	ActResume = "resume"
	ActCancel = "cancel"
)

// ActOnReplay pauses, resumes or cancels a replay. It is idempotent.
func (s *Service) ActOnReplay(ctx context.Context, c engine.Caller, id recoup.ID, act, reason string) (recoup.Replay, error) {
	var f check.Fields
	reason = needed(&f, "reason", reason)
	if err := f.Err(); err != nil {
		return recoup.Replay{}, err
	}
	status, err := s.Store.StepReplay(ctx, time.Time{}, id, func(current store.ReplayStatus, now time.Time) (recoup.Replay, store.ReplayEffects, error) {
		r, effects := current.Replay, store.ReplayEffects{}
		switch from := r.State; {
		case !c.Of(r.Hub):
			return r, effects, sqldb.ErrNotFound
		case act == ActPause && from == recoup.ReplayRunning:
			r, effects = changed(r, recoup.ReplayPaused, c.Name, reason, now)
		case act == ActResume && from == recoup.ReplayPaused:
			r, effects = resume(current, c.Name, reason, now)
		case act == ActCancel && !from.Over() && from != recoup.ReplayCancelling:
			r, effects = changed(r, recoup.ReplayCancelling, c.Name, reason, now)
			r.NextAt = now
		case act == ActPause && from == recoup.ReplayPaused, act == ActResume && from == recoup.ReplayRunning,
			act == ActCancel && (from == recoup.ReplayCancelling || from == recoup.ReplayCancelled):
		default:
			return r, effects, fault.New(fault.CodeInvalidTransition, "A replay that is %s cannot be changed so: %s.", from, act).
				With("input", act).With("state", string(from))
		}
		return r, effects, nil
	})
	if err == nil && act != ActPause {
		if _, err = s.advance(ctx, id); err == nil {
			status, err = s.Store.Replay(ctx, id)
		}
	}
	return PublicReplay(&status), err
}
