package verb

import (
	"context"
	"time"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/row"
)

var (
	rounds      = table(store.Rounds, "round")
	notes       = table(store.Notes, "note")
	groups      = table(store.Groups, "group")
	payloads    = table(store.Payloads, "payload")
	checkpoints = table(store.Checkpoints, "checkpoint")
	pauses      = table(store.Pauses, "pause")
	items       = table(store.ReplayItems, "item")

	groupColumns = append(row.Within("", store.Groups.Columns, func(g *store.Group) *store.Group { return g }),
		row.Big("open", func(g *store.Group) *int64 { return &g.Open }),
		row.Big("total", func(g *store.Group) *int64 { return &g.Total }))
	selectGroup = "select " + store.Groups.Names("g.") + `,
		coalesce((select sum(open) from recoup.dead_letter_count c where c.group_id = g.group_id), 0)::bigint,
		coalesce((select sum(arrived) from recoup.dead_letter_count c where c.group_id = g.group_id), 0)::bigint from `
)

// Rounds returns the rounds of a dead letter, the first first.
func (v Verbs) Rounds(ctx context.Context, id recoup.ID, limit int) ([]store.Round, error) {
	return rounds.list(ctx, v, rounds.ask("read rounds", "where error_id = $1 order by round limit $2", id, clamp(limit)))
}

// Notes returns the notes about what a note names, oldest first.
func (v Verbs) Notes(ctx context.Context, about store.Note, limit int) ([]store.Note, error) {
	subject, id := "error_id", about.ErrorID
	switch {
	case !about.ReplayID.IsZero():
		subject, id = "replay_id", about.ReplayID
	case !about.GroupID.IsZero():
		subject, id = "group_id", about.GroupID
	}
	return notes.list(ctx, v, notes.ask("read notes", "where "+subject+" = $1 order by seq limit $2", id, clamp(limit)))
}

// Group returns a group with its counts.
func (v Verbs) Group(ctx context.Context, id recoup.ID) (store.Group, error) {
	list, err := rows(ctx, v, ask("read a group", selectGroup+"recoup.dead_letter_group g where g.group_id = $1", id), groupColumns...)
	return one(list, err, groups.named(id.String()))
}

// Groups lists groups with their counts, those first in which something arrived
// last.
func (v Verbs) Groups(ctx context.Context, f store.GroupFilter, p store.Page) ([]store.Group, store.Cursor, error) {
	if f.Within.None() {
		return nil, store.Cursor{}, nil
	}
	list, err := rows(ctx, v, groupsQuery(f, p), groupColumns...)
	return list, next(list, p.Size(), func(g *store.Group) store.Cursor { return store.Cursor{At: g.LastSeenAt, ID: g.ID} }), err
}

// groupsQuery picks the page before its groups are counted.
func groupsQuery(f store.GroupFilter, p store.Page) *Query {
	q := ask("list groups", selectGroup)
	const order = " order by last_seen_at desc, group_id desc"
	q.pageOf("recoup.dead_letter_group", "dead_letter_group_pipeline_idx", order, f.Within, p, func() {
		q.equal("pipeline", f.Pipeline)
		q.past("last_seen_at", "group_id", p.Cursor)
	})
	return q.add(" g" + order)
}

// maxArms is of how many pipelines a page of each is read.
const maxArms = 50

// pageOf picks a page of a table. Of several pipelines a page of each is read from
// the index of pipelines, and the newest of them are taken; of too many for a
// statement, or all but some, the index that has the order is read.
func (q *Query) pageOf(from, byPipeline, order string, within *store.Pipelines, p store.Page, conditions func()) {
	limit := order + " limit " + q.arg(p.Size())
	if within == nil || within.Except || len(within.Names) > maxArms {
		q.add("(select * from " + from + " where true")
		q.among(within)
		conditions()
		q.add(limit + ")")
		return
	}
	q.add("(select * from (")
	for i, name := range within.Names {
		if i > 0 {
			q.add(" union all ")
		}
		q.add("select * from (select * from " + from + " /*by " + byPipeline + "*/ where pipeline = " + q.arg(name))
		conditions()
		q.add(limit + ") n")
	}
	q.add(") n" + limit + ")")
}

// among restricts to the pipelines that a caller sees, without the index of
// pipelines: another has the order.
func (q *Query) among(within *store.Pipelines) {
	if within == nil {
		return
	}
	seen := "(pipeline || '') = any (" + q.arg(within.Names) + "::text[])"
	if within.Except {
		seen = "not (" + seen + ")"
	}
	q.add(" and " + seen)
}

// StepGroup changes the owner and the note of a group.
func (v Verbs) StepGroup(ctx context.Context, id recoup.ID, decide store.DecideGroup) (store.Group, error) {
	var refused error
	next, err := act(ctx, v, "step a group", func(tx Tx) (store.Group, error) {
		tx.Guard("select from recoup.dead_letter_group where group_id = $1 for update", id)
		var found []store.Group
		err := tx.Query(ask("", selectGroup+"recoup.dead_letter_group g where g.group_id = $1", id), row.Into(&found, groupColumns))
		current, err := one(found, err, groups.named(id.String()))
		if err != nil {
			return current, err
		}
		var decided store.Group
		var said []store.Note
		if decided, said, refused = decide(current); refused != nil {
			decided, said = current, nil
		}
		current.Owner, current.Note = decided.Owner, decided.Note
		if err := groups.set(tx, current); err != nil {
			return current, err
		}
		return current, notes.add(tx, said...)
	})
	if err == nil {
		err = refused
	}
	return next, err
}

// SetPause pauses work.
func (v Verbs) SetPause(ctx context.Context, p store.Pause) error {
	return v.db.Act(ctx, "pause work", time.Time{}, func(tx Tx) error { return pauses.put(tx, p) })
}

// LiftPause ends a pause and reports whether there was one.
func (v Verbs) LiftPause(ctx context.Context, p store.Pause) (bool, error) {
	n, err := v.purge(ctx, "lift a pause", "delete from recoup.work_pause where pipeline = $1 and stage = $2 and error_class = $3",
		p.Pipeline, p.Stage, string(p.Class))
	return n > 0, err
}

// Pauses returns the pauses that hold at now, oldest first. What names no pipeline
// concerns all, and is for those who see all.
func (v Verbs) Pauses(ctx context.Context, now time.Time, within *store.Pipelines) ([]store.Pause, error) {
	q := pauses.ask("read what is paused", "where (until is null or until > $1)", now)
	if q.among(within); within != nil {
		q.add(" and pipeline <> ''")
	}
	q.add(" order by paused_at, pipeline, stage, error_class limit " + q.arg(store.MaxPage))
	return pauses.list(ctx, v, q)
}

// Checkpoints returns the outputs of finished stages in the order in which they
// were saved.
func (v Verbs) Checkpoints(ctx context.Context, work recoup.ID) ([]store.Checkpoint, error) {
	q := checkpoints.ask("read checkpoints", "where work_id = $1 order by at, stage limit $2", work, store.MaxPage)
	return checkpoints.list(ctx, v, q)
}

// Payload returns the payload of a piece of work.
func (v Verbs) Payload(ctx context.Context, work recoup.ID) (store.Payload, error) {
	return payloads.get(ctx, v, payloads.ask("read a payload", "where work_id = $1", work), work.String())
}

// Payloads returns the payloads of those pieces of work that have one.
func (v Verbs) Payloads(ctx context.Context, works []recoup.ID) ([]store.Payload, error) {
	return payloads.list(ctx, v, payloads.ask("read payloads", "where work_id = any ($1::uuid[])", works))
}

// replays are replays with their counts.
var replays = view(store.ReplayStatuses[:len(store.ReplayStatuses)-1], "replay", `, (
	select coalesce(json_agg(json_build_object('phase', phase, 'state', state, 'n', n) order by phase, state), '[]') from (
		select phase, state, sum(n) as n from recoup.replay_count k
		where k.replay_id = r.replay_id group by 1, 2 having sum(n) <> 0) s) from recoup.replay r`)

// CreateReplay begins a replay without members.
func (v Verbs) CreateReplay(ctx context.Context, r store.Replay, said ...store.Note) error {
	return v.db.Act(ctx, "create a replay", r.CreatedAt, func(tx Tx) error {
		if err := tx.Add(store.Replays.Batch([]store.Replay{r})); err != nil {
			return err
		}
		return notes.add(tx, said...)
	})
}

// LockedReplay reads a replay and has the act wait for others at it.
func LockedReplay(tx Tx, id recoup.ID) (store.ReplayStatus, error) {
	tx.Guard("select from recoup.replay where replay_id = $1 for update", id)
	var found []store.ReplayStatus
	err := tx.Lock(replays.ask("", "where r.replay_id = $1", id), row.Into(&found, store.ReplayStatuses))
	return one(found, err, replays.named(id.String()))
}

// Replay returns a replay with its counts.
func (v Verbs) Replay(ctx context.Context, id recoup.ID) (store.ReplayStatus, error) {
	list, err := rows(ctx, v, replays.ask("read a replay", "where r.replay_id = $1", id), store.ReplayStatuses...)
	return one(list, err, replays.named(id.String()))
}

// Replays lists replays with their counts, newest first.
func (v Verbs) Replays(ctx context.Context, f store.ReplayFilter, p store.Page) ([]store.ReplayStatus, store.Cursor, error) {
	q := replays.ask("list replays", "where true")
	q.equal("r.state", string(f.State))
	if len(f.Hubs) > 0 {
		q.oneOf("r.hub", f.Hubs)
	}
	list, err := rows(ctx, v, q.newest("r.created_at", "r.replay_id", p), store.ReplayStatuses...)
	return list, next(list, p.Size(), func(r *store.ReplayStatus) store.Cursor { return store.Cursor{At: r.CreatedAt, ID: r.ID} }), err
}

// DueReplays returns replays that are to be looked after, longest due first.
func (v Verbs) DueReplays(ctx context.Context, now time.Time, limit int) ([]recoup.ID, error) {
	return rows(ctx, v, ask("read what replays are due",
		"select replay_id from recoup.replay where next_at <= $1 order by next_at limit $2", now, clamp(limit)), idColumn...)
}

// Items lists the items of a replay in the order of their positions.
func (v Verbs) Items(ctx context.Context, replay recoup.ID, state store.ItemState, from, limit int) ([]store.ReplayItem, int, error) {
	size := store.Page{Limit: limit}.Size()
	q := items.ask("list the items of a replay", "where replay_id = $1 and position >= $2", replay, from)
	q.equal("state", string(state))
	list, err := items.list(ctx, v, q.add(" order by position limit "+q.arg(size)))
	if err != nil || len(list) < size {
		return list, -1, err
	}
	return list, list[len(list)-1].Position + 1, nil
}

// ItemsOf returns the items that a dead letter has been in replays, the last
// first.
func (v Verbs) ItemsOf(ctx context.Context, id recoup.ID, limit int) ([]store.ReplayItem, error) {
	return items.list(ctx, v, ask("read the replays of a dead letter", "select "+items.Names("i.")+` from recoup.replay_item i
		join recoup.replay r on r.replay_id = i.replay_id
		where i.error_id = $1 order by r.created_at desc, r.replay_id desc limit $2`, id, clamp(limit)))
}
