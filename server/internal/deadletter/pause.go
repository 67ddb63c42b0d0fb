package deadletter

import (
	"cmp"
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// How the audit names what is done to pauses.
const (
	actPaused = "work.pause"
	actLifted = "work.unpause"
)

// Pause keeps work from being claimed.
func (s *Service) Pause(ctx context.Context, c engine.Caller, in recoup.NewPause) (recoup.WorkPause, error) {
	if err := cmp.Or(s.CheckPause(c, &in), s.within(c, in.Pipeline)); err != nil {
		return recoup.WorkPause{}, err
	}
	now := s.now()
	p := recoup.WorkPause{PauseScope: in.PauseScope, By: c.Name, Reason: in.Reason, At: now, Until: in.Until}
	if err := s.Store.SetPause(ctx, p); err != nil {
		return p, err
	}
	details := map[string]any{"pipeline": p.Pipeline, "stage": p.Stage, "error_class": string(p.Class)}
	if !p.Until.IsZero() {
		details["until"] = p.Until.UTC().Format(time.RFC3339)
	}
	return p, s.Store.AppendAudit(ctx, c.Act(p.Reason, now).On(actPaused, pauseName(&p.PauseScope), details))
}

// CheckPause brings a pause into the form in which it is kept, and says what is wrong
// with it, all of it.
func (s *Service) CheckPause(c engine.Caller, p *recoup.NewPause) error {
	var f check.Fields
	s.checkScope(c, &p.PauseScope, p.All, &f)
	p.Reason = needed(&f, "reason", p.Reason)
	if p.Until = p.Until.UTC().Truncate(time.Microsecond); !p.Until.IsZero() && !p.Until.After(s.now()) {
		f.Addf("until", "range", "until must lie in the future")
	}
	return f.Err()
}

// Unpause ends the pause of just this pipeline, stage and class.
func (s *Service) Unpause(ctx context.Context, c engine.Caller, p recoup.PauseScope, reason string) error {
	if err := cmp.Or(s.CheckUnpause(c, &p, &reason), s.within(c, p.Pipeline)); err != nil {
		return err
	}
	there, err := s.Store.LiftPause(ctx, p)
	if err != nil {
		return err
	}
	if !there {
		return sqldb.ErrNotFound
	}
	s.Wake()
	return s.Store.AppendAudit(ctx, c.Act(reason, s.now()).On(actLifted, pauseName(&p), nil))
}

// CheckUnpause is [Service.CheckPause] of the end of a pause.
func (s *Service) CheckUnpause(c engine.Caller, p *recoup.PauseScope, reason *string) error {
	var f check.Fields
	s.checkScope(c, p, true, &f)
	*reason = text(&f, "reason", *reason, maxText)
	return f.Err()
}

// Pauses returns the pauses of the caller's pipelines that hold now, oldest first.
func (s *Service) Pauses(ctx context.Context, c engine.Caller) ([]recoup.WorkPause, error) {
	return s.Store.Pauses(ctx, s.now(), s.bounds(c))
}

func (s *Service) checkScope(c engine.Caller, p *recoup.PauseScope, all bool, f *check.Fields) {
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
func pauseName(p *recoup.PauseScope) string {
	or := func(s string) string {
		if s == "" {
			return "*"
		}
		return s
	}
	return or(p.Pipeline) + "/" + or(p.Stage) + "/" + or(string(p.Class))
}
