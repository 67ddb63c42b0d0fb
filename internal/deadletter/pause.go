package deadletter

import (
	"cmp"
	"context"
	"time"

	"recoup"
	"recoup/internal/check"
	"recoup/internal/engine"
	"recoup/internal/store"
)

// How the audit names what is done to pauses.
const (
	actPaused = "work.pause"
	actLifted = "work.unpause"
)

// Pause keeps work from being claimed: of a pipeline, a stage, an error class, or
// of all that it names together. all says that naming nothing is meant.
func (s *Service) Pause(ctx context.Context, c engine.Caller, p store.Pause, all bool) (store.Pause, error) {
	now := s.now()
	p.By, p.At = c.Name, now
	if err := cmp.Or(s.CheckPause(c, &p, all), s.within(c, p.Pipeline)); err != nil {
		return p, err
	}
	if err := s.Store.SetPause(ctx, p); err != nil {
		return p, err
	}
	details := map[string]any{"pipeline": p.Pipeline, "stage": p.Stage, "error_class": string(p.Class)}
	if !p.Until.IsZero() {
		details["until"] = p.Until.UTC().Format(time.RFC3339)
	}
	return p, s.Store.AppendAudit(ctx, c.Act(p.Reason, now).On(actPaused, pauseName(&p), details))
}

// CheckPause brings a pause into the form in which it is kept, and says what is wrong
// with it, all of it.
func (s *Service) CheckPause(c engine.Caller, p *store.Pause, all bool) error {
	var f check.Fields
	s.checkPause(c, p, all, &f)
	p.Reason = needed(&f, "reason", p.Reason)
	if p.Until = p.Until.Truncate(time.Microsecond); !p.Until.IsZero() && !p.Until.After(s.now()) {
		f.Addf("until", "range", "until must lie in the future")
	}
	return f.Err()
}

// Unpause ends the pause of just this pipeline, stage and class.
func (s *Service) Unpause(ctx context.Context, c engine.Caller, p store.Pause, reason string) error {
	if err := cmp.Or(s.CheckUnpause(c, &p, &reason), s.within(c, p.Pipeline)); err != nil {
		return err
	}
	there, err := s.Store.LiftPause(ctx, p)
	if err != nil {
		return err
	}
	if !there {
		return store.ErrNotFound
	}
	s.Wake()
	return s.Store.AppendAudit(ctx, c.Act(reason, s.now()).On(actLifted, pauseName(&p), nil))
}

// CheckUnpause is [Service.CheckPause] of the end of a pause.
func (s *Service) CheckUnpause(c engine.Caller, p *store.Pause, reason *string) error {
	var f check.Fields
	s.checkPause(c, p, true, &f)
	*reason = text(&f, "reason", *reason, maxText)
	return f.Err()
}

// Pauses returns the pauses of the caller's pipelines that hold now, oldest first.
func (s *Service) Pauses(ctx context.Context, c engine.Caller) ([]store.Pause, error) {
	return s.Store.Pauses(ctx, s.now(), s.bounds(c))
}

func (s *Service) checkPause(c engine.Caller, p *store.Pause, all bool, f *check.Fields) {
	if p.Pipeline != "" {
		f.Name("pipeline", p.Pipeline)
	}
	if p.Stage != "" {
		f.Name("stage", p.Stage)
	}
	if p.Class != "" {
		_, code, err := s.Codes().Fold(string(p.Class))
		if err != nil {
			f.Addf("error_class", "pattern", "error_class must look like a code: %v", err)
		}
		f.Folded("error_class", string(p.Class), string(code))
		p.Class = code
	}
	if p.Pipeline == "" && len(c.Hubs) > 0 {
		f.Addf("pipeline", "required", "pipeline is required of a key for some hubs: without one, work of all hubs is meant")
	} else if !all && p.Pipeline == "" && p.Stage == "" && p.Class == recoup.Code("") {
		f.Addf("pipeline", "required", `name a pipeline, a stage or an error_class, or say "all": true if all work is meant`)
	}
}

// pauseName names a pause in the audit.
func pauseName(p *store.Pause) string {
	or := func(s string) string {
		if s == "" {
			return "*"
		}
		return s
	}
	return or(p.Pipeline) + "/" + or(p.Stage) + "/" + or(string(p.Class))
}
