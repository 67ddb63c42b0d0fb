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
)

// wholeFields are those of a letter with the error that stands in its table, if
// there is one.
func wholeFields(l *store.Letter) []any {
	list := places(store.LetterParts, l)
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

const dayMicros = 86_400_000_000

// GroupDays returns what a group has gained on each UTC day from a day on.
func (s *Store) GroupDays(ctx context.Context, key recoup.ID, from time.Time, limit int) ([]store.DayCount, error) {
	return query(ctx, s, func(c *store.DayCount) []any { return []any{stamp{&c.Day}, &c.N} },
		`select day * 86400000000, arrived from dead_letter_count where group_id = ? and day >= ? and arrived <> 0 order by day limit 0 + ?`,
		id{&key}, micros(from)/dayMicros, store.Page{Limit: limit}.Size())
}
