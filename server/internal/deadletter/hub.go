package deadletter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
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
	if s.Sees(c, pipeline) {
		return nil
	}
	return sqldb.ErrNotFound
}

// Sees reports whether the caller may see what is of a pipeline.
func (s *Service) Sees(c engine.Caller, pipeline string) bool { return s.bounds(c).Has(pipeline) }

// within reports whether all that there is of a piece of work is of these pipelines.
func within(bounds *store.Pipelines, l *store.StagedWork) bool {
	for _, pipeline := range []string{l.Queued.Pipeline, l.Dead.Pipeline, l.Previous.Pipeline} {
		if pipeline != "" && !bounds.Has(pipeline) {
			return false
		}
	}
	return true
}

// only makes a decision about the caller's own work alone; of what is another hub's it
// says no more than foreign does.
func (s *Service) only(c engine.Caller, foreign error, decide store.DecideStaged) store.DecideStaged {
	bounds := s.bounds(c)
	if bounds == nil {
		return decide
	}
	return func(l store.StagedWork, now time.Time) (store.StagedWork, store.StagedEffects, error) {
		if !within(bounds, &l) {
			return l, store.StagedEffects{}, foreign
		}
		return decide(l, now)
	}
}

// unknownWork is what is said of work that nobody has submitted.
func unknownWork() error { return leaseLost(&store.StagedWork{}) }

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
		return fault.BadField("lease_token", "required", "lease_token is required of a key for some hubs: submit the work and claim it, or use a key for all hubs")
	}
	l, err := s.Store.StagedWork(ctx, work)
	if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
		return err
	}
	if !within(bounds, &l) {
		return unknownWork()
	}
	return nil
}

// Groups lists the groups that the caller sees, the last seen first.
func (s *Service) Groups(ctx context.Context, c engine.Caller, pipeline string, p sqldb.Page) ([]recoup.DeadLetterGroup, sqldb.Cursor, error) {
	if err := s.within(c, pipeline); err != nil {
		return nil, sqldb.Cursor{}, err
	}
	var f store.GroupFilter
	f.Pipeline, f.Within = s.bounds(c).Narrow(pipeline)
	return s.Store.Groups(ctx, f, p)
}

// bind bounds a selection to the pipelines of the caller's hubs.
func (s *Service) bind(c engine.Caller, sel *Selection) error {
	sel.Within = s.bounds(c)
	return s.within(c, sel.Pipeline)
}

// mayReplay returns a dead letter of a selection if it can be replayed now and is as
// it was seen.
func (s *Service) mayReplay(ctx context.Context, sel *Selection, m *engine.Member) (store.StagedWork, error) {
	l, err := s.Store.DeadLetter(ctx, m.ID)
	switch {
	case err != nil:
		return l, err
	case !within(sel.Within, &l):
		return l, sqldb.ErrNotFound
	}
	return l, cmp.Or(may(&l, ActReplay), m.Unchanged(l.Dead.UpdatedAt))
}

// fix returns who a replay is of, and its members: those that a preview has shown, or
// those that are named.
func (s *Service) fix(ctx context.Context, c engine.Caller, sel *Selection, token string) (hub string, members []engine.Member, err error) {
	if err := s.bind(c, sel); err != nil {
		return "", nil, err
	}
	if token == "" {
		for _, id := range sel.IDs {
			members = append(members, engine.Member{ID: id})
		}
		hub, err = s.replayHub(ctx, c, sel)
		return hub, members, err
	}
	shown, err := engine.ParsePreviewToken(token, ActReplay, s.now())
	if err != nil {
		return "", nil, err
	}
	sel.Shown = len(shown.Members)
	switch {
	case len(c.Hubs) == 1: // the bounds of its key hold, whatever the token says
		return c.Hubs[0], shown.Members, nil
	case shown.Hub == "" && len(c.Hubs) > 0:
		return "", nil, ofOneHub()
	case shown.Hub != "" && !c.Of(shown.Hub):
		return "", nil, sqldb.ErrNotFound
	case shown.Hub != "": // a token can be made up: what is another hub's does not join
		sel.Within = s.bounds(engine.Caller{Hubs: []string{shown.Hub}})
	}
	return shown.Hub, shown.Members, nil
}

func ofOneHub() error {
	return fault.BadField("pipeline", "hub", "a replay with a key for some hubs must be of one hub: name a pipeline, a group_id, or ids of one hub")
}

// replayHub returns the hub that all named members of a replay are of; empty: of
// several. A key for some hubs can only begin one of one hub.
func (s *Service) replayHub(ctx context.Context, c engine.Caller, sel *Selection) (string, error) {
	if len(c.Hubs) == 1 {
		return c.Hubs[0], nil
	}
	var of hubs
	for _, id := range sel.IDs {
		l, err := s.Store.DeadLetter(ctx, id)
		switch {
		case errors.Is(err, sqldb.ErrNotFound) || err == nil && !within(sel.Within, &l):
		case err != nil:
			return "", err
		default:
			of.add(s.Policies.Current().PipelineHub(l.Dead.Pipeline).ID)
		}
	}
	hub := of.only()
	if hub == "" && len(c.Hubs) > 0 {
		return "", ofOneHub()
	}
	return hub, nil
}

// hubs are those that the members of a replay are of.
type hubs []string

func (h *hubs) add(id string) {
	if !slices.Contains(*h, id) {
		*h = append(*h, id)
	}
}

// only is the hub that all are of; empty: of several, or of none.
func (h hubs) only() string {
	if len(h) != 1 {
		return ""
	}
	return h[0]
}
