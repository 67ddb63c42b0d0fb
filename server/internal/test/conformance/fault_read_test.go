package conformance

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func claimMistakes() []mistake {
	claiming := func(change func(*store.Claim)) func(*memory) Store {
		return func(m *memory) Store { return claimer{m, change} }
	}
	due := func(claimable func(e *recoup.Error, now time.Time) bool) func(*memory) Store {
		return func(m *memory) Store {
			m.claimable = claimable
			return m
		}
	}
	return []mistake{
		{"a claim comes too early", claimNotDue, claiming(func(c *store.Claim) { c.Now = c.Now.Add(-time.Microsecond) })},
		{"a claim ignores its limit", claimOrder, claiming(func(c *store.Claim) { c.Limit++ })},
		{"a claim ignores its tables", claimTables, claiming(func(c *store.Claim) { c.Tables = []string{dol, people, target} })},
		{"a claim forgets lapsed leases", claimLapsed, due(func(e *recoup.Error, now time.Time) bool {
			return claimable(e, now) && e.LeaseToken.IsZero()
		})},
		{"a claim does not see the last moment of a window", claimWindow, due(func(e *recoup.Error, now time.Time) bool {
			return claimable(e, now) && (e.WindowEndsAt.IsZero() || now.Before(e.WindowEndsAt))
		})},
		{"a claim leaves lapsed leases outside their window", claimLapsedLate, due(func(e *recoup.Error, now time.Time) bool {
			return claimable(e, now) && (e.WindowEndsAt.IsZero() || !now.After(e.WindowEndsAt))
		})},
		{"a claim is handed out twice", claimLeased, func(m *memory) Store { return &generous{memory: m} }},
	}
}

// claimer changes what is asked of it before it does it.
type claimer struct {
	*memory
	change func(*store.Claim)
}

func (s claimer) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	s.change(&claim)
	return s.memory.ClaimDue(ctx, claim)
}

// generous hands out again what it has handed out before.
type generous struct {
	*memory
	before []recoup.Error
}

func (s *generous) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	claimed, err := s.memory.ClaimDue(ctx, claim)
	if len(claimed) == 0 {
		return s.before, err
	}
	s.before = claimed
	return claimed, err
}

func readingMistakes() []mistake {
	return []mistake{
		{"a field is lost", everyField, func(m *memory) Store {
			return reader{m, func(e *recoup.Error) { e.LastReviewedAt = time.Time{} }}
		}},
		{"a field is lost in the archive", everyField, func(m *memory) Store {
			return reader{m, func(e *recoup.Error) {
				if e.State == recoup.Archived {
					e.NextReminderAt = time.Time{}
				}
			}}
		}},
		{"what is unset becomes something", nothingSet, func(m *memory) Store {
			return reader{m, func(e *recoup.Error) {
				if e.LeasedAt.IsZero() {
					e.LeasedAt = time.Unix(0, 0)
				}
			}}
		}},
		{"times are cut to milliseconds", microseconds, func(m *memory) Store {
			return reader{m, func(e *recoup.Error) { e.CreatedAt = e.CreatedAt.Truncate(time.Millisecond) }}
		}},
		{"entities are looked up without regard to case", text, func(m *memory) Store { return caseless{m} }},
		{"a filter is forgotten", filters, func(m *memory) Store { return lister{m, func(f *store.Filter, _ *sqldb.Page) { f.Tier = 0 }} }},
		{"a cursor forgets the id", cursorWalks, func(m *memory) Store {
			return lister{m, func(_ *store.Filter, p *sqldb.Page) { p.Cursor.ID = recoup.ID{} }}
		}},
		{"the queue is not in order", parkQueue, func(m *memory) Store { return jumbled{m} }},
		{"the history is not in order", historyOrder, func(m *memory) Store { return jumbled{m} }},
		{"the history has a row too many", firstReport, func(m *memory) Store { return talkative{m} }},
		{"deadlines come a moment early", dueIsExact, func(m *memory) Store { return hasty{m} }},
		{"deadlines ignore their limit", dueOrder, func(m *memory) Store { return unlimited{m} }},
		{"counts forget what was archived", counts, func(m *memory) Store { return hoarder{m} }},
	}
}

// reader changes every error it reads.
type reader struct {
	*memory
	change func(*recoup.Error)
}

func (s reader) Error(ctx context.Context, id recoup.ID) (recoup.Error, error) {
	e, err := s.memory.Error(ctx, id)
	s.change(&e)
	return e, err
}

type caseless struct{ *memory }

func (s caseless) Errors(_ context.Context, f store.Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	entity := f.Entity
	f.Entity = ""
	list := s.pick(s.open, func(e *recoup.Error) bool {
		return Fits(f, e) && (entity == "" || strings.EqualFold(e.EntityID, entity))
	})
	rows, next := page(list, p, func(e *recoup.Error) time.Time { return e.CreatedAt }, -1)
	return rows, next, nil
}

// lister changes what is asked of it before it lists.
type lister struct {
	*memory
	change func(*store.Filter, *sqldb.Page)
}

func (s lister) Errors(ctx context.Context, f store.Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	s.change(&f, &p)
	return s.memory.Errors(ctx, f, p)
}

// jumbled turns the pages of its lists upside down.
type jumbled struct{ *memory }

func (s jumbled) ParkQueue(ctx context.Context, tables []string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	list, next, err := s.memory.ParkQueue(ctx, tables, p)
	slices.Reverse(list)
	return list, next, err
}

func (s jumbled) History(ctx context.Context, id recoup.ID, limit int) ([]recoup.Transition, error) {
	rows, err := s.memory.History(ctx, id, limit)
	slices.Reverse(rows)
	return rows, err
}

type talkative struct{ *memory }

func (s talkative) History(ctx context.Context, id recoup.ID, limit int) ([]recoup.Transition, error) {
	rows, err := s.memory.History(ctx, id, limit)
	return append(rows, rows...), err
}

type hasty struct{ *memory }

func (s hasty) Due(ctx context.Context, d store.Deadline, now time.Time, skip, limit int) ([]recoup.ID, error) {
	return s.memory.Due(ctx, d, now.Add(time.Microsecond), skip, limit)
}

type unlimited struct{ *memory }

func (s unlimited) Due(ctx context.Context, d store.Deadline, now time.Time, skip, _ int) ([]recoup.ID, error) {
	return s.memory.Due(ctx, d, now, skip, sqldb.MaxPage)
}

// hoarder counts what has left its table.
type hoarder struct{ *memory }

func (s hoarder) Counts(ctx context.Context) ([]recoup.StateCount, error) {
	list, err := s.memory.Counts(ctx)
	for i := range list {
		list[i].N += int64(len(s.archived))
	}
	return list, err
}

func keepingMistakes() []mistake {
	return []mistake{
		{"archives are purged a moment early", retention, func(m *memory) Store {
			return purger{m, func(now time.Time, limit int) (time.Time, int) { return now.Add(time.Microsecond), limit }}
		}},
		{"a purge ignores its limit", purgeBatches, func(m *memory) Store {
			return purger{m, func(now time.Time, _ int) (time.Time, int) { return now, sqldb.MaxPage }}
		}},
		{"history goes before its error", historyKept, func(m *memory) Store {
			m.keeps = func(t *policy.Table) time.Duration { return t.Retention }
			return m
		}},
		{"history is never dropped", historyOutlives, func(m *memory) Store {
			m.keeps = func(*policy.Table) time.Duration { return 100 * 365 * day }
			return m
		}},
	}
}

type purger struct {
	*memory
	change func(now time.Time, limit int) (time.Time, int)
}

func (s purger) PurgeArchive(ctx context.Context, now time.Time, limit int) (int, error) {
	now, limit = s.change(now, limit)
	return s.memory.PurgeArchive(ctx, now, limit)
}
