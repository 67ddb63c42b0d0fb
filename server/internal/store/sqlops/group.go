package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var (
	rounds = table(store.Rounds, "round")
	notes  = table(store.Notes, "note")
	groups = table(store.Groups, "group")

	counted = view(append(sqldb.Within("g.", store.Groups.Columns, func(g *recoup.DeadLetterGroup) *recoup.DeadLetterGroup { return g }),
		sqldb.Big("coalesce((select sum(open) from recoup.dead_letter_count c where c.group_id = g.group_id), 0)::bigint",
			func(g *recoup.DeadLetterGroup) *int64 { return &g.Open }),
		sqldb.Big("coalesce((select sum(arrived) from recoup.dead_letter_count c where c.group_id = g.group_id), 0)::bigint",
			func(g *recoup.DeadLetterGroup) *int64 { return &g.Total })), "group", " from ")
)

// Rounds returns the rounds of a dead letter, the first first.
func (v Ops) Rounds(ctx context.Context, id recoup.ID, limit int) ([]recoup.Round, error) {
	return rounds.list(ctx, v, rounds.ask("read rounds", "where error_id = $1 order by round limit $2", id, clamp(limit)))
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
	return notes.list(ctx, v, notes.ask("read notes", "where "+subject+" = $1 order by seq limit $2", id, clamp(limit)))
}

const groupOf = "recoup.dead_letter_group g where g.group_id = $1"

// Group returns a group with its counts.
func (v Ops) Group(ctx context.Context, id recoup.ID) (recoup.DeadLetterGroup, error) {
	return counted.get(ctx, v, counted.ask("read a group", groupOf, id), id.String())
}

// Groups lists groups with their counts, those first in which something arrived
// last.
func (v Ops) Groups(ctx context.Context, f store.GroupFilter, p store.Page) ([]recoup.DeadLetterGroup, store.Cursor, error) {
	if f.Within.None() {
		return nil, store.Cursor{}, nil
	}
	return counted.page(ctx, v, groupsQuery(f, p), p, func(g *recoup.DeadLetterGroup) store.Cursor { return store.Cursor{At: g.LastSeenAt, ID: g.ID} })
}

// groupsQuery picks the page before its groups are counted.
func groupsQuery(f store.GroupFilter, p store.Page) *Query {
	q := counted.ask("list groups", "")
	const order = " order by last_seen_at desc, group_id desc"
	q.pageOf("recoup.dead_letter_group", "", "dead_letter_group_pipeline_idx", order, f.Within, p, func() {
		q.equal("pipeline", f.Pipeline)
		q.past("last_seen_at", "group_id", p.Cursor)
	})
	return q.add(" g" + order)
}

var groupDays = sqldb.Fields(func(d *recoup.GroupDay) []any { return []any{&d.GroupID, &d.Day, &d.N} })

// GroupDays returns what groups have gained on each UTC day from a day on.
func (v Ops) GroupDays(ctx context.Context, ids []recoup.ID, from time.Time) ([]recoup.GroupDay, error) {
	return rows(ctx, v, ask("read the days of groups", `select group_id, day::timestamptz, sum(arrived)::bigint from recoup.dead_letter_count
		where group_id = any ($1::uuid[]) and day >= $2::date group by group_id, day having sum(arrived) <> 0 order by day, group_id`,
		ids, store.Day(from)), groupDays...)
}

// StepGroup changes the owner and the note of a group.
func (v Ops) StepGroup(ctx context.Context, id recoup.ID, decide store.DecideGroup) (recoup.DeadLetterGroup, error) {
	return decideOne(ctx, v, "step a group", time.Time{}, func(tx Tx) (current recoup.DeadLetterGroup, refused, err error) {
		tx.LockRows("select from recoup.dead_letter_group where group_id = $1 for update", id)
		found, err := counted.find(tx, groupOf, id)
		if current, err = one(found, err, groups.named(id.String())); err != nil {
			return current, nil, err
		}
		decided, said, refused := decide(current)
		if refused != nil {
			return current, refused, nil
		}
		current.Owner, current.Note = decided.Owner, decided.Note
		if err := groups.set(tx, current); err != nil {
			return current, nil, err
		}
		return current, nil, notes.add(tx, said...)
	})
}
