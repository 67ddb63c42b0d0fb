package conformance

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func writingMistakes() []mistake {
	return []mistake{
		{"a repeat does not find the open error", repeat, func(m *memory) Store { return forgetful{m} }},
		{"counts of failures are not read", streaks, func(m *memory) Store { return uncounting{m} }},
		{"a refused report stops its batch", refusedReport, func(m *memory) Store { return fussy{m} }},
		{"reports of a batch are committed one by one", cancelled, func(m *memory) Store { return piecemeal{m} }},
		{"steps of a batch are committed one by one", forbidden, func(m *memory) Store { return piecemeal{m} }},
		{"an archived error cannot be found by its worker", lateResult, func(m *memory) Store { return shut{m} }},
		{"nothing is forbidden", forbidden, func(m *memory) Store {
			m.wrong = func(*recoup.Error) string { return "" }
			return m
		}},
		{"notices are lost", firstReport, func(m *memory) Store { return mute{m} }},
		{"an answer is not what was decided", repeat, func(m *memory) Store { return liar{m} }},
		{"rows written by SQL do not block", rawRow, func(m *memory) Store { return harmless{m} }},
		{"the gate does not look", promoteBlocked, func(m *memory) Store { return openGate{m} }},
		{"the gate's numbers are not remembered", gateOrder, func(m *memory) Store { return openGate{m} }},
	}
}

// forgetful never finds what a report would replace.
type forgetful struct{ *memory }

func (s forgetful) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	return s.memory.Report(ctx, now, asking(reports, func(decide store.Decide) store.Decide {
		return func(_ *recoup.Error, streak int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return decide(nil, streak, now)
		}
	}))
}

// asking changes how each decision is asked for.
func asking(reports []store.Report, how func(store.Decide) store.Decide) []store.Report {
	changed := slices.Clone(reports)
	for i := range changed {
		changed[i].Decide = how(changed[i].Decide)
	}
	return changed
}

type uncounting struct{ *memory }

func (s uncounting) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	return s.memory.Report(ctx, now, asking(reports, func(decide store.Decide) store.Decide {
		return func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return decide(current, 0, now)
		}
	}))
}

// fussy gives up a batch at the first refusal.
type fussy struct{ *memory }

func (s fussy) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	outcomes := make([]store.Outcome, len(reports))
	for i := 0; i < len(reports) && (i == 0 || outcomes[i-1].Err == nil); i++ {
		one, err := s.memory.Report(ctx, now, reports[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes[i] = one[0]
	}
	return outcomes, nil
}

// piecemeal commits each item for itself.
type piecemeal struct{ *memory }

func (s piecemeal) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	var outcomes []store.Outcome
	for i := range reports {
		one, err := s.memory.Report(ctx, now, reports[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, nil
}

func (s piecemeal) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	var outcomes []store.Outcome
	for i := range steps {
		one, err := s.memory.ApplySteps(ctx, now, steps[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, nil
}

// shut refuses every input to what is archived.
type shut struct{ *memory }

func (s shut) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) ([]store.Outcome, error) {
	if e, err := s.Error(ctx, steps[0].ID); err == nil && e.State == recoup.Archived {
		return []store.Outcome{{Err: sqldb.ErrNotFound}}, nil
	}
	return s.memory.ApplySteps(ctx, now, steps)
}

type mute struct{ *memory }

func (s mute) PendingNotices(context.Context, int) ([]wire.Notice, error) { return nil, nil }

// liar answers with something else than it stores.
type liar struct{ *memory }

func (s liar) Report(ctx context.Context, now time.Time, reports []store.Report) ([]store.Outcome, error) {
	outcomes, err := s.memory.Report(ctx, now, reports)
	for i := range outcomes {
		outcomes[i].Error.RetryCount = 0
	}
	return outcomes, err
}

type harmless struct{ *memory }

func (s harmless) RawInsert(ctx context.Context, table, entity string, code recoup.Code) error {
	err := s.memory.RawInsert(ctx, table, entity, code)
	for _, e := range s.open {
		e.Blocking = e.Blocking && e.PolicyVersion != ""
	}
	return err
}

type openGate struct{ *memory }

func (s openGate) Promote(context.Context, store.Promotion) (store.Promoted, []recoup.Error, error) {
	return store.Promoted{Seq: 1}, nil, nil
}
