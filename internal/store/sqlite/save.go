package sqlite

import (
	"bytes"
	"database/sql/driver"
	"slices"
	"strings"

	"recoup"
	"recoup/internal/store"
)

// save writes what was decided. History comes before what it resolves; archiving comes
// next because it frees the key of an open error for the one that replaces it, and what
// was replaced at once after what has replaced it.
func (t *tx) save(w *store.Work) error {
	if err := each(t, insertHistory, w.History, transitionFields); err != nil {
		return err
	}
	moved, direct := w.Archives()
	if err := t.archive(moved); err != nil {
		return err
	}
	for _, e := range w.Updates() {
		if err := t.update(w.Was(e.ID), e); err != nil {
			return err
		}
	}
	for _, e := range w.Inserts() {
		if err := t.exec(insertError, fields(errorColumns, e)...); err != nil {
			return err
		}
	}
	slices.Reverse(direct) // what was replaced last has its successor in the table
	if err := t.archive(direct); err != nil {
		return err
	}
	if err := t.saveEvents(w.Events); err != nil {
		return err
	}
	if err := each(t, noteShelved, w.Shelved(), shelvedFields); err != nil {
		return err
	}
	for _, n := range w.Notices {
		if err := t.exec(insertNotice, string(n.Kind), n.To, id{&n.ErrorID}, micros(t.now), micros(t.now)); err != nil {
			return err
		}
	}
	if len(w.Notices) > 0 {
		t.wake(store.WakeNotices)
	}
	if w.Awaken(t.now) {
		t.wake(store.WakeErrors)
	}
	if err := t.saveActivity(w, t.now); err != nil {
		return err
	}
	if err := t.saveReceipts(&w.Receipts); err != nil {
		return err
	}
	return t.saveStreaks(w.Streaks())
}

func (t *tx) archive(list []*recoup.Error) error {
	for _, e := range list {
		if err := t.exec(insertArchive, fields(allColumns, e)...); err != nil {
			return err
		}
	}
	return nil
}

var (
	insertError   = insertInto("error", errorColumns)
	insertArchive = insertInto("error_archive", allColumns)
)

const (
	historyColumns = `error_id, at, input, actor, reason, before, after, policy_version, worker, claimed_at, attempt`
	insertHistory  = `insert into error_history (` + historyColumns + `) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	noteShelved    = `insert into dead_letter_note (error_id, round, step, actor, at, note)
		select error_id, round, ?2, ?3, ?4, ?5 from dead_letter where error_id = ?1`
	insertNotice = `insert into outbox (kind, recipient, error_id, created_at, due_at) values (?, ?, ?, ?, ?)`
)

func transitionFields(t *recoup.Transition) []any {
	return []any{
		id{&t.ErrorID}, stamp{&t.At}, text[string]{&t.Input}, text[string]{&t.Actor}, text[string]{&t.Reason},
		snapshot{&t.Before}, snapshot{&t.After}, text[string]{&t.PolicyVersion},
		text[string]{&t.Worker}, stamp{&t.ClaimedAt}, id{&t.Attempt},
	}
}

// shelvedFields are what a dead letter's note tells of who archived it.
func shelvedFields(t *recoup.Transition) []any {
	return []any{id{&t.ErrorID}, string(store.NoteArchived), text[string]{&t.Actor}, stamp{&t.At}, text[string]{&t.Reason}}
}

// update writes the columns that have changed and no other: SQLite rewrites the
// entries of every index that has a column in the statement.
func (t *tx) update(from, to *recoup.Error) error {
	var (
		set  strings.Builder
		args []any
	)
	for _, c := range errorColumns {
		was, err := c.field(from).Value()
		if err != nil {
			return err
		}
		is, err := c.field(to).Value()
		if err != nil {
			return err
		}
		if !same(was, is) {
			set.WriteString(", " + c.name + " = ?")
			args = append(args, is)
		}
	}
	if len(args) == 0 {
		return nil
	}
	return t.exec(`update error set `+set.String()[2:]+` where error_id = ?`, append(args, id{&to.ID})...)
}

func same(a, b driver.Value) bool {
	x, ok := a.([]byte)
	y, also := b.([]byte)
	if ok && also {
		return bytes.Equal(x, y)
	}
	return ok == also && a == b
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

// loadStreak tells the work how many failures of a family an entity has had.
func (t *tx) loadStreak(w *store.Work, k store.StreakKey) error {
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
