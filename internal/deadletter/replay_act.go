package deadletter

import (
	"context"
	"errors"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/store"
)

// Preview is what a replay of a selection would have as members, and what not and
// why.
type Preview struct {
	Eligible    int
	NotEligible map[string]int // by reason
	Refused     []Refused      // the first hundred of them
	More        bool           // there are more than were looked at
}

// Refused is a dead letter that something cannot be done to, and why.
type Refused struct {
	ID  recoup.ID
	Err error
}

// MaxPreview is how many dead letters a preview looks at.
const MaxPreview = 10_000

// maxRefused is how many refused ones an answer names.
const maxRefused = 100

// Preview says what a replay would do, and does nothing.
func (s *Service) Preview(ctx context.Context, c engine.Caller, sel Selection) (Preview, error) {
	var f fields
	sel.check(&f)
	if err := f.err(); err != nil {
		return Preview{}, err
	}
	if err := s.bind(c, &sel); err != nil {
		return Preview{}, err
	}
	return s.preview(ctx, &sel, MaxPreview)
}

// preview looks at dead letters until enough are eligible.
func (s *Service) preview(ctx context.Context, sel *Selection, enough int) (Preview, error) {
	p := Preview{NotEligible: map[string]int{}}
	for _, id := range sel.IDs {
		err := s.mayReplay(ctx, sel, id)
		var no *fault.Error
		if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.As(err, &no) {
			return p, err
		}
		p.add(id, err)
	}
	if len(sel.IDs) > 0 {
		return p, nil
	}
	page, seen := store.Page{Limit: store.MaxPage}, 0
	for p.Eligible < enough {
		letters, next, err := s.Store.DeadLetters(ctx, sel.filter(), page)
		if err != nil {
			return p, err
		}
		for i := range letters {
			p.add(letters[i].Dead.ErrorID, may(&letters[i], ActReplay))
		}
		if seen += len(letters); next.IsZero() {
			return p, nil
		}
		if seen >= MaxPreview {
			break
		}
		page.Cursor = next
	}
	p.More = true
	return p, nil
}

func (p *Preview) add(id recoup.ID, err error) {
	if err == nil {
		p.Eligible++
		return
	}
	reason := "UNKNOWN"
	var why *fault.Error
	if errors.As(err, &why) {
		if text, ok := why.Details["reason"].(string); ok {
			reason = text
		}
		if step, ok := why.Details["missing_step"].(string); ok && reason == "MISSING_STEP" {
			reason = "MISSING_" + step
		}
	}
	p.NotEligible[reason]++
	if len(p.Refused) < maxRefused {
		p.Refused = append(p.Refused, Refused{id, err})
	}
}

// The acts on a replay.
const (
	ActPause  = "pause"
	ActResume = "resume"
	ActCancel = "cancel"
)

// ActOnReplay pauses, resumes or cancels a replay. What it is already, it stays.
func (s *Service) ActOnReplay(ctx context.Context, c engine.Caller, id recoup.ID, act, reason string) (store.ReplayStatus, error) {
	var f fields
	reason = f.needed("reason", reason)
	if err := f.err(); err != nil {
		return store.ReplayStatus{}, err
	}
	status, err := s.Store.StepReplay(ctx, time.Time{}, id, func(current store.ReplayStatus, now time.Time) (store.Replay, store.ReplayEffects, error) {
		r, effects := current.Replay, store.ReplayEffects{}
		switch from := r.State; {
		case !c.Of(r.Hub):
			return r, effects, store.ErrNotFound
		case act == ActPause && from == store.ReplayRunning:
			r, effects = changed(r, store.ReplayPaused, c.Name, reason, now)
		case act == ActResume && from == store.ReplayPaused:
			r, effects = resume(current, c.Name, reason, now)
		case act == ActCancel && !from.Over() && from != store.ReplayCancelling:
			r, effects = changed(r, store.ReplayCancelling, c.Name, reason, now)
			r.NextAt = now
		case act == ActPause && from == store.ReplayPaused, act == ActResume && from == store.ReplayRunning,
			act == ActCancel && (from == store.ReplayCancelling || from == store.ReplayCancelled):
		default:
			return r, effects, fault.New(fault.CodeInvalidTransition, "A replay that is %s cannot be changed so: %s.", from, act).
				With("input", act).With("state", string(from))
		}
		return r, effects, nil
	})
	if err != nil || act == ActPause {
		return status, err
	}
	if _, err := s.advance(ctx, id); err != nil {
		return status, err
	}
	return s.Store.Replay(ctx, id)
}
