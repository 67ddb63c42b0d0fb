package conformance

import (
	"context"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func (m *memory) Error(_ context.Context, id recoup.ID) (recoup.Error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.find(id); ok {
		return *e, nil
	}
	return recoup.Error{}, sqldb.ErrNotFound
}

func (m *memory) Errors(_ context.Context, f store.Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.pick(m.open, func(e *recoup.Error) bool { return Fits(f, e) })
	rows, next := page(list, p, func(e *recoup.Error) time.Time { return e.CreatedAt }, -1)
	return rows, next, nil
}

// page returns one page of a list, ordered by a time and then by id.
func page(list []*recoup.Error, p sqldb.Page, at func(*recoup.Error) time.Time, direction int) ([]recoup.Error, sqldb.Cursor) {
	after := func(e *recoup.Error, c sqldb.Cursor) int {
		if order := at(e).Compare(c.At); order != 0 {
			return order * direction
		}
		return slices.Compare(e.ID[:], c.ID[:]) * direction
	}
	slices.SortFunc(list, func(a, b *recoup.Error) int { return after(a, sqldb.Cursor{At: at(b), ID: b.ID}) })
	if !p.Cursor.IsZero() {
		list = slices.DeleteFunc(list, func(e *recoup.Error) bool { return after(e, p.Cursor) <= 0 })
	}
	if len(list) <= p.Size() {
		return values(list), sqldb.Cursor{}
	}
	list = list[:p.Size()]
	last := list[len(list)-1]
	return values(list), sqldb.Cursor{At: at(last), ID: last.ID}
}

func (m *memory) ParkQueue(_ context.Context, tables []string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.pick(m.open, func(e *recoup.Error) bool { return Fits(store.Filter{Parked: new(true), Tables: tables}, e) })
	rows, next := page(list, p, func(e *recoup.Error) time.Time { return e.ParkedAt }, 1)
	return rows, next, nil
}

func (m *memory) Archived(_ context.Context, table string, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.pick(m.archived, func(e *recoup.Error) bool { return e.Table == table })
	rows, next := page(list, p, func(e *recoup.Error) time.Time { return e.ArchivedAt }, -1)
	return rows, next, nil
}

func (m *memory) History(_ context.Context, id recoup.ID, limit int) ([]recoup.Transition, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := m.history[id]
	return slices.Clone(rows[:min(len(rows), limit)]), nil
}

func (m *memory) Blocking(_ context.Context, entities []string, limit int) ([][]store.Blocker, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make([][]store.Blocker, len(entities))
	for i, entity := range entities {
		for _, e := range m.blockers(entity, limit) {
			found[i] = append(found[i], store.BlockerOf(&e))
		}
	}
	return found, nil
}

func (m *memory) blockers(entity string, limit int) []recoup.Error {
	list := m.pick(m.open, func(e *recoup.Error) bool { return e.Blocking && e.EntityID == entity })
	slices.SortStableFunc(list, func(a, b *recoup.Error) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return values(list[:min(len(list), limit)])
}

func (m *memory) Due(_ context.Context, d store.Deadline, now time.Time, skip, limit int) ([]recoup.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := map[store.Deadline]func(e *recoup.Error) time.Time{
		store.DueExpiry:     func(e *recoup.Error) time.Time { return e.ExpiresAt },
		store.DueWindow:     windowEnd,
		store.DueLapse:      func(e *recoup.Error) time.Time { return e.LeaseEndsAt },
		store.DueEscalation: func(e *recoup.Error) time.Time { return e.NextEscalationAt },
		store.DueReminder:   func(e *recoup.Error) time.Time { return e.NextReminderAt },
		store.DueResolved:   func(e *recoup.Error) time.Time { return e.ResolvedAt },
	}[d]
	list := m.pick(m.open, func(e *recoup.Error) bool { return !at(e).IsZero() && !at(e).After(now) })
	slices.SortStableFunc(list, func(a, b *recoup.Error) int { return at(a).Compare(at(b)) })
	list = list[min(len(list), skip):]
	var due []recoup.ID
	for _, e := range list[:min(len(list), limit)] {
		due = append(due, e.ID)
	}
	return due, nil
}

// windowEnd is the first microsecond outside the retry window of an error that
// waits for a worker.
func windowEnd(e *recoup.Error) time.Time {
	if e.State != recoup.RetryPending || !e.LeaseToken.IsZero() || e.WindowEndsAt.IsZero() {
		return time.Time{}
	}
	return e.WindowEndsAt.Add(time.Microsecond)
}

func (m *memory) Unadmitted(_ context.Context, limit int) ([]recoup.Error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.pick(m.open, func(e *recoup.Error) bool { return e.PolicyVersion == "" })
	return values(list[:min(len(list), limit)]), nil
}

func (m *memory) PendingNotices(_ context.Context, limit int) ([]wire.Notice, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.outbox[:min(len(m.outbox), limit)]), nil
}

func (m *memory) Counts(context.Context) ([]recoup.StateCount, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := map[recoup.StateCount]int64{}
	for _, e := range m.open {
		n[recoup.StateCount{Table: e.Table, State: e.State}]++
	}
	var list []recoup.StateCount
	for c, count := range n {
		c.N = count
		list = append(list, c)
	}
	return list, nil
}

func (m *memory) Promote(ctx context.Context, p store.Promotion) (store.Promoted, []recoup.Error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return store.Promoted{}, nil, err
	}
	if p.Receipt == nil {
		return m.promote(p)
	}
	known := m.known(p.At)
	var blockers []recoup.Error
	done, answer, repeated, err := store.Once(&known, p.Receipt, func() (done store.Promoted, err error) {
		done, blockers, err = m.promote(p)
		return done, err
	})
	if repeated {
		err = &store.Repeat{Answer: answer}
	}
	m.keep(&known)
	return done, blockers, err
}

func (m *memory) promote(p store.Promotion) (store.Promoted, []recoup.Error, error) {
	if blockers := m.blockers(p.Entity, 100); len(blockers) > 0 {
		return store.Promoted{}, blockers, store.ErrBlocked
	}
	return store.Promoted{Seq: m.log(p.Entity, store.GatePromote, p.ID), At: p.At}, nil, nil
}

func (m *memory) GateLog(_ context.Context, entity string, limit int) ([]store.GateEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []store.GateEntry
	for _, entry := range m.gate {
		if entry.Entity == entity && len(list) < limit {
			list = append(list, entry)
		}
	}
	return list, nil
}

func (m *memory) KnowsEntity(_ context.Context, entity string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, place := range []map[recoup.ID]*recoup.Error{m.open, m.archived} {
		for _, e := range place {
			if e.EntityID == entity {
				return true, nil
			}
		}
	}
	return slices.ContainsFunc(m.gate, func(g store.GateEntry) bool { return g.Entity == entity }), nil
}
