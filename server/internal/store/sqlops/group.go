package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var (
	rounds = sqldb.NewRepository(store.Rounds, "round")
	notes  = sqldb.NewRepository(store.Notes, "note")
	groups = sqldb.NewRepository(store.Groups, "group")

	counted = sqldb.NewView(append(sqldb.Within("g.", store.Groups.Columns, func(g *recoup.DeadLetterGroup) *recoup.DeadLetterGroup { return g }),
		sqldb.Big("coalesce((select sum(open) from recoup.dead_letter_count c where c.group_id = g.group_id), 0)::bigint",
			func(g *recoup.DeadLetterGroup) *int64 { return &g.Open }),
		sqldb.Big("coalesce((select sum(arrived) from recoup.dead_letter_count c where c.group_id = g.group_id), 0)::bigint",
			func(g *recoup.DeadLetterGroup) *int64 { return &g.Total })), "group", " from ")
)

// Rounds returns the rounds of a dead letter, the first first.
func (v Ops) Rounds(ctx context.Context, id recoup.ID, limit int) ([]recoup.Round, error) {
	return rounds.List(ctx, v.db, rounds.Select("read rounds", "where error_id = $1 order by round limit $2", id, sqldb.Clamp(limit)))
}

// Notes returns the notes about what a note names, oldest first.
func (v Ops) Notes(ctx context.Context, about recoup.Note, limit int) ([]recoup.Note, error) {
	subject, id := "error_id", about.ErrorID
	switch {
	case !about.ReplayID.IsZero():
		subject, id = "replay_id", about.ReplayID
	case !about.GroupID.IsZero():
		subject, id = "group_id", about.GroupID
	}
	return notes.List(ctx, v.db, notes.Select("read notes", "where "+subject+" = $1 order by seq limit $2", id, sqldb.Clamp(limit)))
}

const groupOf = "recoup.dead_letter_group g where g.group_id = $1"

// Group returns a group with its counts.
func (v Ops) Group(ctx context.Context, id recoup.ID) (recoup.DeadLetterGroup, error) {
	return counted.Get(ctx, v.db, counted.Select("read a group", groupOf, id), id.String())
}

// Groups lists groups with their counts, those first in which something arrived
// last.
func (v Ops) Groups(ctx context.Context, f store.GroupFilter, p sqldb.Page) ([]recoup.DeadLetterGroup, sqldb.Cursor, error) {
	if f.Within.None() {
		return nil, sqldb.Cursor{}, nil
	}
	return counted.Page(ctx, v.db, groupsQuery(v.db.Dialect(), f, p), p, func(g *recoup.DeadLetterGroup) sqldb.Cursor { return sqldb.Cursor{At: g.LastSeenAt, ID: g.ID} })
}

// groupsQuery picks the page before its groups are counted.
func groupsQuery(d sqldb.Dialect, f store.GroupFilter, p sqldb.Page) *sqldb.Query {
	q := counted.Select("list groups", "")
	const order = " order by last_seen_at desc, group_id desc"
	pageOf(q, d, "recoup.dead_letter_group", "", "dead_letter_group_pipeline_idx", order, f.Within, p, func() {
		q.Equal("pipeline", f.Pipeline)
		q.Past("last_seen_at", "group_id", p.Cursor)
	})
	return q.Add(" g" + order)
}

var groupDays = sqldb.Fields(func(d *recoup.GroupDay) []any { return []any{&d.GroupID, &d.Day, &d.N} })

// GroupDays returns what groups have gained on each UTC day from a day on.
func (v Ops) GroupDays(ctx context.Context, ids []recoup.ID, from time.Time) ([]recoup.GroupDay, error) {
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("read the days of groups", `select group_id, day::timestamptz, sum(arrived)::bigint from recoup.dead_letter_count
		where group_id`+v.db.Dialect().AnyID("$1")+` and day >= $2::date group by group_id, day having sum(arrived) <> 0 order by day, group_id`,
		ids, store.Day(from)), groupDays...)
}

// StepGroup changes the owner and the note of a group.
func (v Ops) StepGroup(ctx context.Context, id recoup.ID, decide store.DecideGroup) (recoup.DeadLetterGroup, error) {
	return sqldb.DecideOne(ctx, v.db, "step a group", time.Time{}, func(tx Tx) (current recoup.DeadLetterGroup, refused, err error) {
		tx.LockRows("select from recoup.dead_letter_group where group_id = $1 for update", id)
		found, err := counted.Find(tx, groupOf, id)
		if current, err = sqldb.One(found, err, groups.Label(id.String())); err != nil {
			return current, nil, err
		}
		decided, said, refused := decide(current)
		if refused != nil {
			return current, refused, nil
		}
		current.Owner, current.Note = decided.Owner, decided.Note
		if err := groups.Update(tx, current); err != nil {
			return current, nil, err
		}
		return current, nil, notes.Add(tx, said...)
	})
}
