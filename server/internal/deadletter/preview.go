package deadletter

import (
	"context"
	"errors"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// MaxPreview is how many dead letters a preview looks at, and how many of those that
// are eligible it shows: the most of one replay.
const MaxPreview = engine.MaxBulk

// CheckSelection says what is wrong with a selection, all of it.
func (s *Service) CheckSelection(asked recoup.ReplaySelection) error {
	_, err := s.checkSelection(asked)
	return err
}

func (s *Service) checkSelection(asked recoup.ReplaySelection) (Selection, error) {
	var f check.Fields
	sel := s.selection(asked, &f)
	sel.check(&f)
	return sel, f.Err()
}

// Preview says what a replay would do, and does nothing. What it shows as eligible is
// all that a replay with its token can have as members.
func (s *Service) Preview(ctx context.Context, c engine.Caller, asked recoup.ReplaySelection) (recoup.ReplayPreview, error) {
	p := recoup.ReplayPreview{NotEligible: map[string]int{}, Refused: []recoup.Refused{}}
	sel, err := s.checkSelection(asked)
	if err == nil {
		err = s.bind(c, &sel)
	}
	if err != nil {
		return p, err
	}
	var hubs hubs
	shown := engine.PreviewSet{Act: ActReplay, Until: s.now().Add(engine.PreviewLife)}
	take := func(l *store.StagedWork) {
		p.Eligible++
		shown.Members = append(shown.Members, engine.Member{ID: l.Dead.ErrorID, UpdatedAt: l.Dead.UpdatedAt})
		hubs.add(s.Policies.Current().PipelineHub(l.Dead.Pipeline).ID)
	}
	look := s.lookByFilter
	if len(sel.IDs) > 0 {
		look = s.lookByID
	}
	err = look(ctx, &sel, &p, take)
	shown.Hub = hubs.only()
	p.Token = shown.Token()
	return p, err
}

// lookByID looks at named dead letters.
func (s *Service) lookByID(ctx context.Context, sel *Selection, p *recoup.ReplayPreview, take func(*store.StagedWork)) error {
	for _, id := range sel.IDs {
		l, err := s.mayReplay(ctx, sel, &engine.Member{ID: id})
		switch {
		case err == nil:
			take(&l)
		case ofLetter(err):
			p.Exclude(id, reasonOf(err), err)
		default:
			return err
		}
	}
	return nil
}

// lookByFilter looks at those that a filter selects: first at those whose turn it is,
// so that no others keep them out, then at all, for what stands in their way.
func (s *Service) lookByFilter(ctx context.Context, sel *Selection, p *recoup.ReplayPreview, take func(*store.StagedWork)) error {
	filter := sel.filter()
	filter.Step = recoup.StepValidated
	ready, err := s.scan(ctx, filter, func(l *store.StagedWork) {
		if may(l, ActReplay) == nil {
			take(l)
		}
	})
	if err != nil {
		return err
	}
	all, err := s.scan(ctx, sel.filter(), func(l *store.StagedWork) {
		if err := may(l, ActReplay); err != nil {
			p.Exclude(l.Dead.ErrorID, reasonOf(err), err)
		}
	})
	p.More = ready || all
	return err
}

// scan goes through dead letters, the newest first, and reports whether there are more
// than a preview looks at.
func (s *Service) scan(ctx context.Context, f store.DeadLetterFilter, see func(*store.StagedWork)) (more bool, err error) {
	page := sqldb.Page{Limit: sqldb.MaxPage}
	for seen := 0; seen < MaxPreview; {
		letters, next, err := s.Store.DeadLetters(ctx, f, page)
		if err != nil {
			return false, err
		}
		for i := range letters {
			see(&letters[i])
		}
		if seen += len(letters); next.IsZero() {
			return false, nil
		}
		page.Cursor = next
	}
	return true, nil
}

// ofLetter reports whether an error says why a dead letter cannot be replayed, rather
// than that nobody knows.
func ofLetter(err error) bool {
	_, no := errors.AsType[*fault.Error](err)
	return no || errors.Is(err, sqldb.ErrNotFound)
}

// reasonOf is why a dead letter cannot be replayed, as previews count it.
func reasonOf(err error) string {
	reason := "UNKNOWN"
	var why *fault.Error
	if errors.As(err, &why) {
		if why.Code == fault.CodeStaleRead {
			reason = "CHANGED"
		}
		if text, ok := why.Details["reason"].(string); ok {
			reason = text
		}
		if step, ok := why.Details["missing_step"].(string); ok && reason == "MISSING_STEP" {
			reason = "MISSING_" + step
		}
	}
	return reason
}
