package sqlops

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var items = sqldb.NewRepository(store.ReplayItems, "item")

// replays are replays with their counts.
var replays = sqldb.PerDialect(func(d sqldb.Dialect) sqldb.Repository[store.ReplayStatus] {
	return sqldb.NewView(append(sqldb.Within("r.", store.Replays.Columns, func(s *store.ReplayStatus) *recoup.Replay { return &s.Replay }),
		sqldb.Read(`(
	select coalesce(`+d.JSONObjects("phase, state", "phase", "state", "n")+`, '[]') from (
		select phase, state, sum(n) as n from recoup.replay_count k
		where k.replay_id = r.replay_id group by 1, 2 having sum(n) <> 0) s)`, func(s *store.ReplayStatus) any { return &s.ByPhase })),
		"replay", " from recoup.replay r")
})

var replayRows = sqldb.NewRepository(store.Replays, "replay")

// CreateReplay begins a replay without members.
func (v Ops) CreateReplay(ctx context.Context, r recoup.Replay, said ...recoup.Note) error {
	return v.db.Act(ctx, "create a replay", r.CreatedAt, func(tx Tx) error {
		if err := replayRows.Add(tx, r); err != nil {
			return err
		}
		return notes.Add(tx, said...)
	})
}

// lockReplay reads a replay and has the act wait for others at it.
func lockReplay(tx Tx, id recoup.ID) (store.ReplayStatus, error) {
	tx.LockRows("select from recoup.replay where replay_id = $1 for update", id)
	var found []store.ReplayStatus
	view := replays(tx.Dialect())
	err := tx.Lock(view.Select("", "where r.replay_id = $1", id), sqldb.Into(&found, view.Columns))
	return sqldb.One(found, err, view.Label(id.String()))
}

// AddMembers adds members to a replay and keeps the cursor.
func (v Ops) AddMembers(ctx context.Context, now time.Time, m store.Members) ([]store.StagedOutcome, error) {
	ids := m.ErrorIDs[:min(len(m.ErrorIDs), sqldb.MaxPage)]
	return sqldb.ActAt(ctx, v.db, "add members to a replay", now, func(tx Tx) ([]store.StagedOutcome, error) {
		current, err := lockReplay(tx, m.ReplayID)
		if err != nil {
			return nil, err
		}
		w, err := loadLetters(tx, ids, nil, nil)
		if err != nil {
			return nil, err
		}
		replay, outcomes := current.Replay, make([]store.StagedOutcome, len(ids))
		for i := range ids {
			outcomes[i] = w.Join(&replay, store.StagedStep{ErrorID: ids[i], Decide: m.Decide})
		}
		if err := save(tx, w); err != nil {
			return nil, err
		}
		replay.Cursor = m.Cursor
		return outcomes, replayRows.Update(tx, replay)
	})
}

// StepReplay applies an input to a replay and puts the items that it releases
// into the queue.
func (v Ops) StepReplay(ctx context.Context, now time.Time, id recoup.ID, decide store.DecideReplay) (store.ReplayStatus, error) {
	return sqldb.DecideOne(ctx, v.db, "step a replay", now, func(tx Tx) (status store.ReplayStatus, refused, err error) {
		if status, err = lockReplay(tx, id); err != nil {
			return status, nil, err
		}
		next, effects, refused := decide(status, tx.Now())
		if refused != nil {
			return status, refused, nil
		}
		if next != status.Replay {
			err = replayRows.Update(tx, next)
		}
		if err == nil && effects.Release > 0 {
			err = release(tx, next, sqldb.Clamp(effects.Release))
		}
		if err == nil {
			err = notes.Add(tx, effects.Notes...)
		}
		if err == nil {
			_, err = AddNotices(tx, tx.Now(), effects.Notices)
		}
		if err == nil {
			status, err = lockReplay(tx, id)
		}
		return status, nil, err
	})
}

var releaseItems = sqldb.PerDialect(func(d sqldb.Dialect) string {
	return `update recoup.replay_item set state = 'RELEASED', phase = $3, released_at = $4
	where replay_id = $1 and state = 'PENDING' and position` + d.AnyOf(`
		select position from recoup.replay_item where replay_id = $1 and state = 'PENDING' order by position limit $2`+d.ForUpdate("update skip locked")) + `
	returning error_id`
})

// release puts the next items of a replay into the queue. What is archived at this
// moment is left out.
func release(tx Tx, r recoup.Replay, n int) error {
	var ids []recoup.ID
	err := tx.Query(sqldb.NewQuery("", releaseItems(tx.Dialect()), r.ID, n, r.Phase, tx.Now()), sqldb.Into(&ids, sqldb.IDColumn()))
	if err != nil || len(ids) == 0 {
		return err
	}
	released, err := letters.Find(tx, "recoup.dead_letter d"+joinLetter(tx.Dialect())+joinError+" where d.error_id"+tx.Dialect().AnyID("$1"), ids)
	if err != nil {
		return err
	}
	queued := make([]recoup.WorkItem, len(released))
	for i := range released {
		queued[i] = released[i].Released(tx.Now())
	}
	tx.Wake(store.WakeWork)
	return tx.SaveQueue(queued, nil, nil)
}

// endable are items that wait for their outcome and that nobody holds.
var endable = sqldb.PerDialect(func(d sqldb.Dialect) string {
	return `select error_id from (
		select * from (select i.error_id from recoup.replay_item i left join recoup.work w on w.work_id = i.work_id
			where i.replay_id = $1 and i.state = 'RELEASED' and (w.lease_ends_at is null or w.lease_ends_at <= ` + d.Due("$2") + `)
			order by i.position limit $3) n
		union all
		select * from (select error_id from recoup.replay_item where replay_id = $1 and state = 'PENDING' order by position limit $3) n) i
	limit $3`
})

// EndItems applies an input to items that wait for their outcome and that no
// worker holds. Whether they still do is asked again when they are locked.
func (v Ops) EndItems(ctx context.Context, now time.Time, id recoup.ID, limit int, decide store.DecideStaged) (int, error) {
	return sqldb.ActAt(ctx, v.db, "end items of a replay", now, func(tx Tx) (int, error) {
		var ids []recoup.ID
		err := tx.Query(sqldb.NewQuery("", endable(tx.Dialect()), id, tx.Due(), sqldb.Clamp(limit)), sqldb.Into(&ids, sqldb.IDColumn()))
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		w, err := loadLetters(tx, ids, nil, nil)
		if err != nil {
			return 0, err
		}
		return w.End(id, ids, decide), save(tx, w)
	})
}

// Replay returns a replay with its counts.
func (v Ops) Replay(ctx context.Context, id recoup.ID) (store.ReplayStatus, error) {
	view := replays(v.db.Dialect())
	return view.Get(ctx, v.db, view.Select("read a replay", "where r.replay_id = $1", id), id.String())
}

// Replays lists replays with their counts, newest first.
func (v Ops) Replays(ctx context.Context, f store.ReplayFilter, p sqldb.Page) ([]store.ReplayStatus, sqldb.Cursor, error) {
	view := replays(v.db.Dialect())
	q := view.Select("list replays", "where true")
	q.Equal("r.state", string(f.State))
	if len(f.Hubs) > 0 {
		q.OneOf(v.db.Dialect(), "r.hub", f.Hubs)
	}
	return view.Page(ctx, v.db, q.Newest("r.created_at", "r.replay_id", p), p, func(r *store.ReplayStatus) sqldb.Cursor {
		return sqldb.Cursor{At: r.CreatedAt, ID: r.ID}
	})
}

// DueReplays returns replays that are to be looked after, longest due first.
func (v Ops) DueReplays(ctx context.Context, now time.Time, limit int) ([]recoup.ID, error) {
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("read what replays are due",
		"select replay_id from recoup.replay where next_at <= $1 order by next_at limit $2", now, sqldb.Clamp(limit)), sqldb.IDColumn()...)
}

// Items lists the items of a replay in the order of their positions.
func (v Ops) Items(ctx context.Context, replay recoup.ID, state recoup.ItemState, from, limit int) ([]recoup.ReplayItem, int, error) {
	size := sqldb.Page{Limit: limit}.Size()
	q := items.Select("list the items of a replay", "where replay_id = $1 and position >= $2", replay, from)
	q.Equal("state", string(state))
	list, err := items.List(ctx, v.db, q.Add(" order by position limit "+q.Arg(size)))
	if err != nil || len(list) < size {
		return list, -1, err
	}
	return list, list[len(list)-1].Position + 1, nil
}

// ItemsOf returns the items that a dead letter has been in replays, the last
// first.
func (v Ops) ItemsOf(ctx context.Context, id recoup.ID, limit int) ([]recoup.ReplayItem, error) {
	return items.List(ctx, v.db, sqldb.NewQuery("read the replays of a dead letter", "select "+items.Names("i.")+` from recoup.replay_item i
		join recoup.replay r on r.replay_id = i.replay_id
		where i.error_id = $1 order by r.created_at desc, r.replay_id desc limit $2`, id, sqldb.Clamp(limit)))
}
