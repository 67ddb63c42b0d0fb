package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// The columns of the queue on the wire, and those that can change.
var (
	queueColumns = columns(store.WorkQueue.Columns)
	queueChanges = columns(store.WorkQueue.Changing().Columns)
)

// claimWork serves lane by lane: the tickets of new work and of every replay that
// runs, so that a paused one does not block others, and expired leases. Of
// each as many are locked as may be needed, and the longest due of all are taken.
// Somebody else may want the rows of replayed work, so those are locked as well.
var claimWork = `
	with lane as materialized (
		select l.pipeline, l.stage, coalesce(l.since, '-infinity') as since
		from unnest($1::text[], $2::text[], $5::timestamptz[]) as l (pipeline, stage, since)
		where not exists (select from recoup.work_pause p where p.error_class = '' and p.pipeline in ('', l.pipeline)
			and p.stage in ('', l.stage) and (p.until is null or p.until > ` + clockOr("$3") + `))
	), running as materialized (select replay_id from recoup.replay where state = 'RUNNING'
	), picked as materialized (
		select * from (
			select d.turn, d.place, d.due_at, d.work_id, null::uuid as token, null::text as worker, null::timestamptz as leased_at
			from lane l cross join lateral (
				select turn, ctid as place, due_at, work_id from recoup.work_due d
				where d.pipeline = l.pipeline and d.stage = l.stage and d.replay_id = '00000000-0000-0000-0000-000000000000'
					and d.due_at >= l.since and d.due_at <= ` + clockOr("$3") + `
				order by d.due_at, d.work_id limit $4 for update skip locked) d
			union all
			select d.turn, d.place, d.due_at, d.work_id, null, null, null
			from lane l cross join running r cross join lateral (
				select d.turn, d.ctid as place, d.due_at, d.work_id from recoup.work_due d join recoup.work w using (work_id)
				where d.pipeline = l.pipeline and d.stage = l.stage and d.replay_id = r.replay_id
					and d.due_at <= ` + clockOr("$3") + ` and ` + notPaused + `
				order by d.due_at, d.work_id limit $4 for update of d, w skip locked) d
			union all
			select null, null, w.lease_ends_at, w.work_id, null, null, null
			from lane l cross join lateral (
				select w.lease_ends_at, w.work_id from recoup.work w
				where w.pipeline = l.pipeline and w.stage = l.stage and w.lease_token is not null and w.lease_ends_at <= ` + clockOr("$3") + `
					and (w.replay_id is null or w.replay_id in (select replay_id from running)) and ` + notPaused + `
				order by w.lease_ends_at, w.work_id limit $4 for update skip locked) w
			union all
			select null, null, k.ends_at, i.work_id, k.token, k.worker, k.leased_at
			from lane l cross join lateral (
				select * from recoup.work_lease k
				where k.pipeline = l.pipeline and k.stage = l.stage and k.ends_at <= ` + clockOr("$3") + `
				order by k.ends_at limit $4 for update skip locked) k
			cross join unnest(k.work_ids) i (work_id)) p
		order by due_at, work_id limit $4
	), gone as (
		delete from recoup.work_due d using picked p where d.turn = p.turn and d.ctid = p.place)
	select ` + names(queueColumns, "w.") + `, p.token, p.worker, p.leased_at, p.due_at from picked p join recoup.work w using (work_id)
	where p.turn is null or w.due_at = p.due_at and w.lease_token is null`

// notPaused are pieces of work whose class is not paused.
var notPaused = `not exists (select from recoup.work_pause p where p.error_class = w.error_class and p.pipeline in ('', w.pipeline)
	and p.stage in ('', w.stage) and (p.until is null or p.until > ` + clockOr("$3") + `))`

// steadily keeps the planner to the indexes that have the order: of a queue that was
// empty a moment ago it believes that it is faster to sort all of it. The plan is kept:
// for the lanes of a claim, which are few, it would be made anew every time.
const steadily = "select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)"

// ClaimWork leases work that is due, the longest due first. Rows that another
// claimer holds at this moment are passed over.
func (s *Store) ClaimWork(ctx context.Context, claim store.WorkClaim) ([]recoup.WorkItem, error) {
	if claim.Limit <= 0 || len(claim.Lanes) == 0 {
		return nil, nil
	}
	var leased []recoup.WorkItem
	err := s.transact(ctx, "claim work", claim.Now, func(t *tx) error {
		due, err := s.pickDue(ctx, t, claim.Lanes, clamp(claim.Limit))
		if err != nil {
			return err
		}
		leased, err = leaseDue(ctx, t, due, claim.Decide)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.turn(ctx, len(leased))
	return leased, nil
}

// pickDue locks work that is due and takes its tickets.
func (s *Store) pickDue(ctx context.Context, t *tx, lanes []recoup.Lane, limit int) ([]dueWork, error) {
	pipelines, stages := splitLanes(lanes)
	due, more := make([]dueWork, 0, s.starts.expect(limit)), []dueWork(nil)
	from, further := s.starts.begin(lanes)
	t.queue(steadily)
	collect(t.queue(claimWork, pipelines, stages, t.due(), limit, from), decodeDue(), &due)
	if err := t.lock(ctx); err != nil {
		return nil, err
	}
	if further && len(due) < limit {
		collect(t.queue(claimWork, pipelines, stages, t.due(), limit-len(due), make([]*time.Time, len(lanes))), decodeDue(), &more)
		if err := t.lock(ctx); err != nil {
			return nil, err
		}
		seen := make(map[recoup.ID]bool, len(due))
		for i := range due {
			seen[due[i].WorkID] = true
		}
		due = append(due, slices.DeleteFunc(more, func(d dueWork) bool { return seen[d.WorkID] })...)
	}
	s.starts.keep(lanes, due, len(due) == limit)
	slices.SortFunc(due, func(a, b dueWork) int {
		return cmp.Or(a.DueAt.Compare(b.DueAt), bytes.Compare(a.WorkID[:], b.WorkID[:]))
	})
	return due, nil
}

// dueWork is work that can be claimed, and the token of its batch if it had one.
type dueWork struct {
	recoup.WorkItem
	batch recoup.ID
}

// decodeDue reads a row of claimWork.
func decodeDue() pgx.RowToFunc[dueWork] {
	work := decode(queueColumns)
	return func(row pgx.CollectableRow) (d dueWork, err error) {
		if d.WorkItem, err = work(row); err != nil {
			return d, err
		}
		rest := row.RawValues()[len(queueColumns):]
		if rest[0] == nil {
			return d, nil
		}
		var l workLease
		for i, c := range []column[workLease]{heldColumns[0], heldColumns[3], heldColumns[4], heldColumns[5]} {
			if rest[i] != nil {
				err = errors.Join(err, c.read(&l, rest[i]))
			}
		}
		d.WorkItem = d.Under(l.Lease)
		d.batch = l.LeaseToken
		return d, err
	}
}

// leaseDue asks about each piece of work and queues what follows: batches of what
// came from the queue, a lease of its own for what another worker has had, and the
// ticket again of what is refused.
func leaseDue(ctx context.Context, t *tx, due []dueWork, decide func(recoup.WorkItem, time.Time) (recoup.WorkItem, error)) (leased []recoup.WorkItem, err error) {
	leased = make([]recoup.WorkItem, 0, len(due))
	together := make([]recoup.WorkItem, 0, len(due))
	var own, refused []recoup.WorkItem
	var lapsed, tokens []recoup.ID
	for i := range due {
		d := &due[i]
		next, err := decide(d.WorkItem, t.now)
		if err == nil && !next.LeaseToken.IsZero() {
			leased = append(leased, next)
		}
		switch {
		case err != nil && d.LeaseToken.IsZero():
			refused = append(refused, d.WorkItem)
		case err != nil:
		case fits(&d.WorkItem, &next):
			together = append(together, next)
		default:
			own = append(own, next)
			if !d.batch.IsZero() {
				lapsed, tokens = append(lapsed, d.WorkID), append(tokens, d.batch)
			}
		}
	}
	if len(lapsed) > 0 {
		b, err := lockBatches(ctx, t, lapsed, tokens)
		if err != nil {
			return nil, err
		}
		for _, work := range lapsed {
			b.take(work)
		}
		b.write(t)
	}
	lease(t, together)
	setRows(t, "recoup.work", queueChanges, own)
	addTickets(t, refused)
	return leased, nil
}

// Fence implements [sqlops.Tx]. The lease is held meanwhile, so that nobody can claim
// the work.
func (a *act) Fence(work, token recoup.ID) error {
	var held []recoup.WorkItem
	var found []workLease
	if !token.IsZero() {
		collect(a.queue("select "+names(heldColumns, "")+" from recoup.work_lease where token = $1 and $2 = any (work_ids) for share",
			token[:], work[:]), decode(heldColumns), &found)
	}
	collect(a.queue("select "+names(queueColumns, "")+" from recoup.work where work_id = $1 for share", work[:]), decode(queueColumns), &held)
	if err := a.send(a.ctx); err != nil {
		return err
	}
	for i := range held {
		newBatches(found).over(&held[i])
	}
	return store.Fence(held, token)
}

// PurgeReplays deletes items of replays that have ended before a time, and the
// replays of which none is left.
func (s *Store) PurgeReplays(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.pool.Change(ctx, "select recoup.purge_replays($1, $2)", before, clamp(limit)).Scan(&n)
	return n, failure("purge replays", err)
}

// FoldDeadLetterCounts replaces appended deltas by their sums.
func (s *Store) FoldDeadLetterCounts(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue(`with old as (delete from recoup.replay_count returning replay_id, phase, state, n)
		insert into recoup.replay_count
		select replay_id, phase, state, sum(n) from old group by 1, 2, 3 having sum(n) <> 0`)
	batch.Queue(`with old as (delete from recoup.dead_letter_count returning group_id, day, arrived, open)
		insert into recoup.dead_letter_count
		select group_id, day, sum(arrived), sum(open) from old group by 1, 2 having sum(arrived) <> 0 or sum(open) <> 0`)
	batch.Queue(`with old as (delete from recoup.dead_letter_level returning pipeline, error_class, step, n)
		insert into recoup.dead_letter_level
		select pipeline, error_class, step, sum(n) from old group by 1, 2, 3 having sum(n) <> 0`)
	batch.Queue(`with old as (delete from recoup.replay_outcome returning state, n)
		insert into recoup.replay_outcome select state, sum(n) from old group by 1`)
	return failure("fold counts of dead letters", s.pool.SendBatch(ctx, batch).Close())
}
