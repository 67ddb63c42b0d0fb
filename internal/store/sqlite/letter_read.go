package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"recoup"
	"recoup/internal/store"
)

var (
	wholeNames  = partNames + `, ` + of("e", names(errorColumns))
	joinError   = ` left join error e on e.error_id = d.error_id`
	selectWhole = `select ` + wholeNames + joinLetter + joinError + ` where d.error_id = ?`

	selectWorkLetter = `select ` + wholeNames + ` from (select ?1 as work_id) o
		left join dead_letter d on d.work_id = o.work_id and d.closed_at is null
		left join replay_item i on i.error_id = d.error_id and i.state in ('PENDING', 'RELEASED')
		left join work w on w.work_id = o.work_id` + joinError + ` where d.work_id is not null or w.work_id is not null`

	selectGroup = countGroups + `dead_letter_group g`
	countGroups = `select ` + of("g", groupColumns) + `, coalesce((select sum(open) from dead_letter_count c where c.group_id = g.group_id), 0),
		coalesce((select sum(arrived) from dead_letter_count c where c.group_id = g.group_id), 0) from `
	updateGroup = `update dead_letter_group set owner = ?2, note = ?3 where group_id = ?1`
)

// wholeFields are those of a letter with the error that stands in its table, if
// there is one.
func wholeFields(l *store.Letter) []any {
	list := partFields(l)
	for _, f := range fields(errorColumns, &l.Error) {
		list = append(list, absent(f))
	}
	return list
}

// absent is a field of an error that may be missing from an outer join.
func absent(f any) any {
	switch f := f.(type) {
	case number:
		return optional(f)
	case flag:
		return optionalFlag(f)
	}
	return f
}

type optionalFlag struct{ to *bool }

func (f optionalFlag) Value() (driver.Value, error) { return flag(f).Value() }

func (f optionalFlag) Scan(src any) error {
	if *f.to = false; src == nil {
		return nil
	}
	return flag(f).Scan(src)
}

// DeadLetter returns a dead letter with its error and all that belongs to it.
func (s *Store) DeadLetter(ctx context.Context, key recoup.ID) (store.Letter, error) {
	list, err := query(ctx, s, wholeFields, selectWhole, id{&key})
	l, err := one(list, err, "dead letter "+key.String())
	if err == nil && l.Error.ID.IsZero() {
		l.Error, err = s.Error(ctx, key)
	}
	return l, err
}

// WorkLetter returns what there is of a piece of work.
func (s *Store) WorkLetter(ctx context.Context, work recoup.ID) (store.Letter, error) {
	list, err := query(ctx, s, wholeFields, selectWorkLetter, id{&work})
	return one(list, err, "work "+work.String())
}

// DeadLetters lists dead letters, newest first.
func (s *Store) DeadLetters(ctx context.Context, f store.LetterFilter, p store.Page) ([]store.Letter, store.Cursor, error) {
	if f.Within.None() {
		return nil, store.Cursor{}, nil
	}
	text, args := lettersText(f, p)
	list, err := query(ctx, s, wholeFields, text, args...)
	return list, lastOf(list, p, func(l *store.Letter) store.Cursor { return store.Cursor{At: l.Dead.CreatedAt, ID: l.Dead.ErrorID} }), err
}

// lettersText picks the page, by the index of the rarest thing that is asked
// for, before it is joined with anything.
func lettersText(f store.LetterFilter, p store.Page) (string, []any) {
	q := choice{}
	if f.Step != store.StepVerified {
		q.require("closed_at is null")
	}
	index := "dead_letter_list_idx"
	for _, c := range []struct{ column, value, index string }{
		{"step", string(f.Step), "dead_letter_step_idx"}, {"pipeline", f.Pipeline, "dead_letter_pipeline_idx"},
		{"stage", f.Stage, "dead_letter_stage_idx"}, {"error_class", string(f.Class), "dead_letter_class_idx"},
	} {
		if c.value != "" && (f.Step != store.StepVerified || c.column == "step") {
			index = c.index
		}
		q.equal(c.column, c.value)
	}
	if !f.Group.IsZero() {
		q.require("group_id = " + q.arg(id{&f.Group}))
		if f.Step != store.StepVerified {
			index = "dead_letter_group_idx"
		}
	}
	if !f.Before.IsZero() {
		q.require("created_at < " + q.arg(micros(f.Before)))
	}
	if !f.After.IsZero() {
		q.require("created_at >= " + q.arg(micros(f.After)))
	}
	q.past("created_at", "error_id", p.Cursor)
	byPipeline := "" // what is closed is in no index of pipelines
	if f.Step != store.StepVerified && f.Group.IsZero() {
		byPipeline = "dead_letter indexed by dead_letter_pipeline_idx"
	}
	page := q.newestOf("dead_letter indexed by "+index, byPipeline, " order by created_at desc, error_id desc", f.Within, p)
	text := `select ` + wholeNames + ` from ` + page + ` d
		left join replay_item i on i.error_id = d.error_id and i.state in ('PENDING', 'RELEASED')
		left join work w on w.work_id = d.work_id and d.closed_at is null` + joinError +
		` order by d.created_at desc, d.error_id desc`
	return text, q.args
}

// Rounds returns the rounds of a dead letter, the first first.
func (s *Store) Rounds(ctx context.Context, key recoup.ID, limit int) ([]store.Round, error) {
	return query(ctx, s, roundFields, `select `+roundColumns+` from dead_letter_round where error_id = ? order by round limit 0 + ?`,
		id{&key}, store.Page{Limit: limit}.Size())
}

// Notes returns the notes about what a note names, oldest first.
func (s *Store) Notes(ctx context.Context, about store.Note, limit int) ([]store.Note, error) {
	subject, key := "error_id", about.ErrorID
	switch {
	case !about.ReplayID.IsZero():
		subject, key = "replay_id", about.ReplayID
	case !about.GroupID.IsZero():
		subject, key = "group_id", about.GroupID
	}
	return query(ctx, s, noteFields, `select `+noteColumns+` from dead_letter_note where `+subject+` = ? order by seq limit 0 + ?`,
		id{&key}, store.Page{Limit: limit}.Size())
}

// Group returns a group with its counts.
func (s *Store) Group(ctx context.Context, key recoup.ID) (store.Group, error) {
	list, err := query(ctx, s, countedGroupFields, selectGroup+` where group_id = ?`, id{&key})
	return one(list, err, "group "+key.String())
}

// Groups lists groups with their counts, those first in which something arrived
// last.
func (s *Store) Groups(ctx context.Context, f store.GroupFilter, p store.Page) ([]store.Group, store.Cursor, error) {
	if f.Within.None() {
		return nil, store.Cursor{}, nil
	}
	text, args := groupsText(f, p)
	list, err := query(ctx, s, countedGroupFields, text, args...)
	return list, lastOf(list, p, func(g *store.Group) store.Cursor { return store.Cursor{At: g.LastSeenAt, ID: g.ID} }), err
}

// groupsText picks the page before its groups are counted.
func groupsText(f store.GroupFilter, p store.Page) (string, []any) {
	q := choice{}
	q.equal("pipeline", f.Pipeline)
	q.past("last_seen_at", "group_id", p.Cursor)
	page := q.newestOf("dead_letter_group", "dead_letter_group indexed by dead_letter_group_pipeline_idx",
		" order by last_seen_at desc, group_id desc", f.Within, p)
	return countGroups + page + ` g order by last_seen_at desc, group_id desc`, q.args
}

// StepGroup changes the owner and the note of a group.
func (s *Store) StepGroup(ctx context.Context, key recoup.ID, decide store.DecideGroup) (store.Group, error) {
	var next store.Group
	var refused error
	err := s.writer.do(ctx, func(tx *tx) error {
		found, err := collectAll(tx, countedGroupFields, selectGroup+` where group_id = ?`, id{&key})
		current, err := one(found, err, "group "+key.String())
		if err != nil {
			return err
		}
		var decided store.Group
		var notes []store.Note
		if decided, notes, refused = decide(current); refused != nil {
			decided, notes = current, nil
		}
		next = current
		next.Owner, next.Note = decided.Owner, decided.Note
		if err := tx.exec(updateGroup, id{&key}, text[string]{&next.Owner}, text[string]{&next.Note}); err != nil {
			return err
		}
		return each(tx, insertNote, notes, noteFields)
	})
	if err != nil {
		return store.Group{}, err
	}
	return next, refused
}

const dayMicros = 86_400_000_000

// GroupDays returns what a group has gained on each UTC day from a day on.
func (s *Store) GroupDays(ctx context.Context, key recoup.ID, from time.Time, limit int) ([]store.DayCount, error) {
	return query(ctx, s, func(c *store.DayCount) []any { return []any{stamp{&c.Day}, bigint{&c.N}} },
		`select day * 86400000000, arrived from dead_letter_count where group_id = ? and day >= ? and arrived <> 0 order by day limit 0 + ?`,
		id{&key}, micros(from)/dayMicros, store.Page{Limit: limit}.Size())
}
