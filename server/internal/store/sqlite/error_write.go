package sqlite

import (
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// save writes what was decided, by whole batches. History comes before what it
// resolves; archiving comes next because it frees the key of an open error for the
// one that replaces it.
func (t *tx) save(w *store.UnitOfWork) error {
	stored, fresh := t.split(w)
	if err := t.saveHistory(stored); err != nil {
		return err
	}
	if err := t.saveErrors(w); err != nil {
		return err
	}
	for i := range w.Late {
		fresh = append(fresh, historyRow{&w.Late[i], nil})
	}
	if err := t.saveHistory(fresh); err != nil {
		return err
	}
	if err := t.saveEvents(w.Events); err != nil {
		return err
	}
	if err := each(t, noteArchived, w.ArchivedByHand(), archivedNoteFields); err != nil {
		return err
	}
	if err := t.saveNotices(w.Notices()); err != nil {
		return err
	}
	if w.Awaken(t.now) {
		t.wake(store.WakeErrors)
	}
	if err := t.saveActivity(w.Tallies); err != nil {
		return err
	}
	if err := t.saveReceipts(&w.Receipts); err != nil {
		return err
	}
	return t.saveStreaks(w.Streaks())
}

func (t *tx) saveNotices(list []wire.Notice) error {
	_, err := sqlops.AddNotices(act{tx: t}, t.now, list)
	return err
}

// split separates the history of stored errors from that of new ones.
func (t *tx) split(w *store.UnitOfWork) (stored, fresh []historyRow) {
	here := map[recoup.ID]*recoup.Error{}
	for _, e := range w.Inserts() {
		here[e.ID] = e
	}
	for i := range w.History {
		h := &w.History[i]
		switch was := w.Was(h.ErrorID); {
		case here[h.ErrorID] != nil:
			fresh = append(fresh, historyRow{h, here[h.ErrorID]})
		case was == nil || was.State == recoup.Archived:
			stored = append(stored, historyRow{h, nil})
		default:
			stored = append(stored, historyRow{h, was})
		}
	}
	return stored, fresh
}

// saveErrors writes the errors, counts them and keeps the gate's log, in place of the
// triggers that do so for everybody else.
func (t *tx) saveErrors(w *store.UnitOfWork) error {
	ends, changed, added := w.Ends()
	updates, inserts, ended := w.Updates(), w.Inserts(), w.Ended()
	if len(ends)+len(updates)+len(inserts) == 0 {
		return nil
	}
	if err := t.exec(beginBatch); err != nil {
		return err
	}
	for _, part := range []func() error{
		func() error { return t.update(w, changed) },
		func() error { return t.insert(added) },
		func() error { return t.archive(ends) },
		func() error { return t.update(w, updates) },
		func() error { return t.insert(inserts) },
		func() error { return levelsOf(w, slices.Concat(ended, updates, inserts)).save(t) },
		func() error { return t.exec(endBatch) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	for _, e := range slices.Concat(ended, updates) {
		t.held.keep(e, t.rows[e.ID])
	}
	return nil
}

func (t *tx) update(w *store.UnitOfWork, list []*recoup.Error) error {
	u := newUpdates()
	for _, e := range list {
		row, err := t.rowOf(e.ID)
		if err == nil {
			err = u.add(row, w.Was(e.ID), e)
		}
		if err != nil {
			return err
		}
	}
	return u.save(t)
}

func (t *tx) insert(list []*recoup.Error) error {
	closed := gate{blocks: true}
	for _, e := range list {
		row, err := t.add(insertError, fields(errorColumns, e)...)
		if err != nil {
			return err
		}
		t.rows[e.ID] = row
		if e.Blocking {
			closed.rows.add(row)
		}
	}
	return closed.save(t)
}

// gate is errors that begin to block or end to, as the gate's log records them.
type gate struct {
	rows   numbers
	blocks bool
}

func (g *gate) save(t *tx) error {
	if g.rows.n == 0 {
		return nil
	}
	if err := t.exec(drawNumbers, g.rows.n); err != nil {
		return err
	}
	return t.exec(insertGate, g.rows.json(), g.rows.n, g.blocks)
}

// level is what errors are counted by.
type level struct {
	table string
	state recoup.State
	ttl   int64
}

// levels are by how much the counts change.
type levels struct {
	sums   map[level]*store.LevelSum
	groups groupDeltas
}

func newLevels() levels { return levels{map[level]*store.LevelSum{}, groupDeltas{}} }

// levelsOf counts what the errors are now in place of what they were.
func levelsOf(w *store.UnitOfWork, list []*recoup.Error) levels {
	l := newLevels()
	for _, e := range list {
		was := w.Was(e.ID)
		if was != nil {
			l.count(was, -1)
		}
		if was == nil || was.GroupID.IsZero() {
			l.groups.arrive(e)
		}
		if e.State != recoup.Archived {
			l.count(e, 1)
		}
	}
	return l
}

func (l levels) save(t *tx) error {
	for k, s := range l.sums {
		if s.N == 0 && s.Blocking == 0 && s.Seconds == 0 && s.Micros == 0 {
			continue
		}
		if err := t.exec(addLevel, k.table, string(k.state), k.ttl, s.N, s.Blocking, s.Seconds, s.Micros); err != nil {
			return err
		}
	}
	return l.groups.save(t)
}

func (l levels) count(e *recoup.Error, n int64) {
	l.groups.count(e, n)
	k := level{table: e.Table, state: e.State}
	born := micros(e.CreatedAt)
	if e.State != recoup.Resolved && !e.ExpiresAt.IsZero() {
		k.ttl = max(0, micros(e.ExpiresAt)-born)
	}
	s := l.sums[k]
	if s == nil {
		s = &store.LevelSum{}
		l.sums[k] = s
	}
	s.N += n
	if e.Blocking {
		s.Blocking += n
	}
	if k.ttl > 0 {
		s.Seconds += n * (born / 1_000_000)
		s.Micros += n * (born % 1_000_000)
	}
}

var insertError = insertInto("error", errorColumns)

const (
	beginBatch = `update tally set batch = 1`
	endBatch   = `update tally set batch = 0`
	insertGate = `insert into gate_entry (entity_id, seq, error_id, blocks, at)
		select e.entity_id, g.seq - ?2 + 1 + j.key, e.error_id, ?3, e.updated_at
		from gate_number g cross join json_each(?1) j cross join error e on e.rowid = j.value`
	addLevel = `insert into error_count (table_name, state, ttl_us, n, blocking, born_s, born_us) values (?, ?, ?, ?, ?, ?, ?)
		on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
			born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us`
	noteArchived = `insert into dead_letter_note (error_id, round, step, actor, at, note)
		select error_id, round, ?2, ?3, ?4, ?5 from dead_letter where error_id = ?1`
)

// archivedNoteFields are those of a dead letter's note of who archived it.
func archivedNoteFields(t *recoup.Transition) []any {
	return []any{id{&t.ErrorID}, string(recoup.NoteArchived), text[string]{&t.Actor}, stamp{&t.At}, text[string]{&t.Reason}}
}

func (t *tx) saveStreaks(streaks []store.StreakCount) error {
	for _, s := range streaks {
		err := t.exec(`delete from entity_streak where family = ? and entity_id = ?`, s.Family, s.Entity)
		if err == nil && s.Count > 0 {
			err = t.exec(`insert into entity_streak (family, entity_id, count) values (?, ?, ?)`, s.Family, s.Entity, s.Count)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadStreak sets how many failures of a family an entity has had.
func (t *tx) loadStreak(w *store.UnitOfWork, k store.StreakKey) error {
	if k.Family == "" || k.Entity == "" {
		return nil
	}
	rows, err := t.query(`select count from entity_streak where family = ? and entity_id = ?`, k.Family, k.Entity)
	if err != nil {
		return err
	}
	counts, err := collect(rows, func(n *int) []any { return []any{n} })
	for _, n := range counts {
		w.SetStreak(k, n)
	}
	return err
}
