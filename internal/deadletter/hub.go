package deadletter

import (
	"context"
	"errors"
	"slices"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/store"
)

// bounds returns the pipelines of the hubs that the caller's key is for; nil: all.
func (s *Service) bounds(c engine.Caller) *store.Pipelines {
	if len(c.Hubs) == 0 {
		return nil
	}
	names, except := s.Policies.Current().PipelinesOf(c.Hubs)
	if except && len(names) == 0 {
		return nil
	}
	return &store.Pipelines{Names: names, Except: except}
}

// within refuses a pipeline that the caller names and that is not of its hubs.
func (s *Service) within(c engine.Caller, pipeline string) error {
	if pipeline == "" || s.bounds(c).Has(pipeline) {
		return nil
	}
	return fault.New(fault.CodeInsufficientPermissions,
		"The pipeline is not of the key's hubs: list it there in the policy (hubs.NAME.pipelines), or use a key for all hubs.").With("hubs", c.Hubs)
}

// visible hides what is of another hub's pipeline as if it were not there.
func (s *Service) visible(c engine.Caller, pipeline string) error {
	if s.bounds(c).Has(pipeline) {
		return nil
	}
	return store.ErrNotFound
}

// within reports whether all that there is of a piece of work is of these pipelines.
func within(bounds *store.Pipelines, l *store.Letter) bool {
	for _, pipeline := range []string{l.Queued.Pipeline, l.Dead.Pipeline, l.Previous.Pipeline} {
		if pipeline != "" && !bounds.Has(pipeline) {
			return false
		}
	}
	return true
}

// only makes a decision about the caller's own work alone; of what is another hub's it
// says no more than foreign does.
func (s *Service) only(c engine.Caller, foreign error, decide store.DecideLetter) store.DecideLetter {
	bounds := s.bounds(c)
	if bounds == nil {
		return decide
	}
	return func(l store.Letter, now time.Time) (store.Letter, store.LetterEffects, error) {
		if !within(bounds, &l) {
			return l, store.LetterEffects{}, foreign
		}
		return decide(l, now)
	}
}

// unknownWork is what is said of work that nobody has submitted.
func unknownWork() error { return leaseLost(&store.Letter{}) }

// taken is what is said of an id that is in use elsewhere.
func taken() error {
	return fault.New(fault.CodeConflict, "There is work of that id in another pipeline.")
}

// holder refuses work that the caller's key is not for. Only the queue knows whose work
// is that has not failed, so that a key for some hubs must have a lease of it.
func (s *Service) holder(ctx context.Context, c engine.Caller, work, token recoup.ID) error {
	bounds := s.bounds(c)
	if bounds == nil {
		return nil
	}
	if token.IsZero() {
		return fault.Validation(fault.FieldError{Field: "lease_token", Constraint: "required",
			Message: "lease_token is required of a key for some hubs: submit the work and claim it, or use a key for all hubs"})
	}
	l, err := s.Store.WorkLetter(ctx, work)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if !within(bounds, &l) {
		return unknownWork()
	}
	return nil
}

// Letters lists the dead letters that the caller sees, newest first.
func (s *Service) Letters(ctx context.Context, c engine.Caller, f store.LetterFilter, p store.Page) ([]store.Letter, store.Cursor, error) {
	if err := s.within(c, f.Pipeline); err != nil {
		return nil, store.Cursor{}, err
	}
	f.Pipeline, f.Within = s.bounds(c).Narrow(f.Pipeline)
	return s.Store.DeadLetters(ctx, f, p)
}

// Groups lists the groups that the caller sees, the last seen first.
func (s *Service) Groups(ctx context.Context, c engine.Caller, pipeline string, p store.Page) ([]store.Group, store.Cursor, error) {
	if err := s.within(c, pipeline); err != nil {
		return nil, store.Cursor{}, err
	}
	var f store.GroupFilter
	f.Pipeline, f.Within = s.bounds(c).Narrow(pipeline)
	return s.Store.Groups(ctx, f, p)
}

// Replays lists the replays of the caller's hubs, newest first.
func (s *Service) Replays(ctx context.Context, c engine.Caller, state store.ReplayState, p store.Page) ([]store.ReplayStatus, store.Cursor, error) {
	return s.Store.Replays(ctx, store.ReplayFilter{State: state, Hubs: c.Hubs}, p)
}

// Status returns a replay with its counts.
func (s *Service) Status(ctx context.Context, c engine.Caller, id recoup.ID) (store.ReplayStatus, error) {
	status, err := s.Store.Replay(ctx, id)
	if err == nil && !c.Of(status.Hub) {
		return store.ReplayStatus{}, store.ErrNotFound
	}
	return status, err
}

// bind bounds a selection to the pipelines of the caller's hubs.
func (s *Service) bind(c engine.Caller, sel *Selection) error {
	sel.Within = s.bounds(c)
	return s.within(c, sel.Pipeline)
}

// mayReplay reports whether a dead letter of a selection can be replayed now.
func (s *Service) mayReplay(ctx context.Context, sel *Selection, id recoup.ID) error {
	l, err := s.Store.DeadLetter(ctx, id)
	switch {
	case err != nil:
		return err
	case !within(sel.Within, &l):
		return store.ErrNotFound
	}
	return may(&l, ActReplay)
}

// replayHub returns the hub that all members of a replay are of, as far as that is known
// beforehand; empty: of several. A key for some hubs can only begin one of one hub.
func (s *Service) replayHub(ctx context.Context, c engine.Caller, sel *Selection) (string, error) {
	if len(c.Hubs) == 1 {
		return c.Hubs[0], nil
	}
	pipelines, err := s.selected(ctx, sel)
	if err != nil {
		return "", err
	}
	hub := ""
	for i, pipeline := range pipelines {
		of := s.Policies.Current().PipelineHub(pipeline).ID
		if i > 0 && of != hub {
			hub = ""
			break
		}
		hub = of
	}
	if hub == "" && len(c.Hubs) > 0 {
		return "", fault.Validation(fault.FieldError{Field: "pipeline", Constraint: "hub",
			Message: "a replay with a key for some hubs must be of one hub: name a pipeline, a group_id, or ids of one hub"})
	}
	return hub, nil
}

// selected returns the pipelines that a selection names, itself or by what it names.
func (s *Service) selected(ctx context.Context, sel *Selection) (pipelines []string, err error) {
	if sel.Pipeline != "" {
		return []string{sel.Pipeline}, nil
	}
	if !sel.Group.IsZero() {
		g, err := s.Store.Group(ctx, sel.Group)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		return []string{g.Pipeline}, err
	}
	for _, id := range sel.IDs {
		l, err := s.Store.DeadLetter(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && !within(sel.Within, &l):
		case err != nil:
			return nil, err
		case !slices.Contains(pipelines, l.Dead.Pipeline):
			pipelines = append(pipelines, l.Dead.Pipeline)
		}
	}
	return pipelines, nil
}
