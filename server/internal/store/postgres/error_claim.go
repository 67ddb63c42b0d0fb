package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// ClaimDue leases due errors. Tables are served in the order in which they are
// named, and in each the longest overdue error comes first. Rows that another
// claimer holds at this moment are passed over, so claimers never wait for each
// other.
func (s *Store) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	if claim.Limit <= 0 || len(claim.Tables) == 0 {
		return nil, nil
	}
	leased, err := s.claimAlike(ctx, claim)
	if claim.Limit = clamp(claim.Limit) - len(leased); err != nil || claim.Limit <= 0 {
		return leased, err
	}
	rest, err := s.claimEach(ctx, claim)
	if err != nil && len(leased) > 0 && !errors.Is(err, store.ErrRefused) {
		return leased, nil // what is leased is leased; the rest may be had next time
	}
	return append(leased, rest...), err
}

// claimEach looks at all that is due and decides on each error for itself.
func (s *Store) claimEach(ctx context.Context, claim store.Claim) (leased []recoup.Error, err error) {
	decide := func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		return claim.Decide(current, now)
	}
	defer s.marks.lookedUp()
	err = s.transact(ctx, "claim", claim.Now, func(t *tx) error {
		leased = nil
		due, err := s.lockDue(ctx, t, claim)
		if err != nil || len(due) == 0 {
			return err
		}
		w := store.NewUnitOfWork(t.now, due)
		w.Memory = s.memory
		leased = make([]recoup.Error, 0, len(due))
		last := map[string]time.Time{}
		for i := range due {
			e := &due[i]
			if e.LeaseToken.IsZero() && e.NextRetryAt.After(last[e.Table]) {
				last[e.Table] = e.NextRetryAt
			}
			if e.HeldBy(claim.Token) || e.LastAttempt == claim.Token && !claim.Token.IsZero() {
				continue // this very claim has leased it, and took longer than the lease: two leases never share a token
			}
			out := w.Step(store.Step{ID: e.ID, Decide: decide, EventOf: claim.EventOf, Result: &store.Result{Like: claim.Like}})
			if out.Err == nil && !out.Error.LeaseToken.IsZero() {
				leased = append(leased, out.Error)
			}
		}
		s.writeErrors(t, w)
		writeEffects(t, w)
		s.marks.looked(t.now, len(due) >= clamp(claim.Limit), last)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

// claimDue leases, in one statement, what nobody holds of the tables and policies
// for which it was decided before, under one token. What it returns of an error is as
// the statement saw it; that it is due and free is as its lock found it. What a lease
// makes of an error is not read: the decision says it. Rows are found where they lie,
// and errors by their ids, whatever plan the statistics of an empty queue suggest.
var claimDue = `with m as materialized (select * from unnest($6::text[], $7::text[], $8::int8[], $9::int4[]) as m (table_name, policy_version, wait, place)),
	act as materialized (select ` + clockOr("$3") + ` as now),
	free as materialized (select d.slot from unnest($1::text[], $2::timestamptz[]) as t (name, first), act cross join lateral (
			select ctid as slot from recoup.due
			where table_name = t.name and due_at between t.first and ` + clockOr("$3") + ` and lease_token is null
				and (window_ends_at is null or window_ends_at >= act.now) and (expires_at is null or expires_at > act.now)
				and policy_version = any ($7::text[]) and error_id <> all ($11::uuid[])
			order by due_at limit $4 for update skip locked) d
		limit $4),
	d as (update recoup.due q set lease_token = $5, lease_worker = $10, leased_at = (select now from act), lease_ends_at = (select now from act) + m.wait * interval '1 microsecond'
		from free, m where q.ctid = free.slot and q.table_name = m.table_name and q.policy_version = m.policy_version
		returning q.error_id, q.due_at, q.lease_ends_at, m.place),
	noted as (insert into recoup.lease select (select now from act), min(lease_ends_at), array_agg(error_id) from d having count(*) > 0)
	select ` + names(claimedColumns(), "e.") + `, (select now from act), d.due_at, d.place from d left join recoup.error e on e.error_id = d.error_id`

// claimedColumns lists what a claim reads of an error: all but what its lease says.
func claimedColumns() []column[recoup.Error] {
	return slices.DeleteFunc(errorColumns(), func(c column[recoup.Error]) bool {
		return slices.Contains([]string{"updated_at", "last_retry_at", "next_retry_at", "resolved_at", "resolved_by", "resolution_reason"}, c.name)
	})
}

// claimAlike leases what can be leased without asking, beginning where this node's
// last claim ended; nothing if everything is to be looked at.
func (s *Store) claimAlike(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	decisions := s.memory.Of(claim.Like)
	if len(decisions) == 0 {
		return nil, nil
	}
	from, ok := s.marks.from(claim.Tables)
	if !ok {
		return nil, nil
	}
	n := len(decisions)
	tables, versions, waits, places := make([]string, n), make([]string, n), make([]int64, n), make([]int32, n)
	for i, d := range decisions {
		tables[i], versions[i], waits[i], places[i] = d.Was.Table, d.Was.PolicyVersion, d.Wait().Microseconds(), int32(i)
	}
	var got claimed
	limit := clamp(claim.Limit)
	err := s.transact(ctx, "claim", claim.Now, func(t *tx) error {
		got = claimed{claim: claim, decisions: decisions, leased: make([]recoup.Error, 0, limit), last: map[string]time.Time{}}
		t.steer()
		t.queue(claimDue, claim.Tables, from, t.due(), limit, claim.Token[:], tables, versions, waits, places, claim.Worker, raw(claim.Without)).Query(got.reader(s.sql.claimed))
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.marks.passed(got.now, len(got.leased) >= limit, got.last)
	return got.leased, nil
}

// claimed is what a claim has leased by decisions that were made before.
type claimed struct {
	claim     store.Claim
	decisions []*lifecycle.Decision
	leased    []recoup.Error
	last      map[string]time.Time // when the last of each table was due
	now       time.Time
}

// reader reads what was leased. What is in the queue and yet waits for no retry, as
// plain SQL can have it, is nobody's to work on: its lease runs out.
func (c *claimed) reader(columns []column[recoup.Error]) func(pgx.Rows) error {
	row := decode(columns)
	return func(rows pgx.Rows) error {
		for rows.Next() {
			e, err := row(rows)
			rest := rows.RawValues()[len(columns):]
			now, bad := integer("now", rest[0])
			at, worse := integer("due_at", rest[1])
			place, worst := integer("place", rest[2])
			if err := errors.Join(err, bad, worse, worst); err != nil {
				return err
			}
			c.now = time.UnixMicro(now + epoch).UTC()
			if due := time.UnixMicro(at + epoch); due.After(c.last[e.Table]) {
				c.last[e.Table] = due
			}
			if d := c.decisions[place]; e.State == d.Was.State {
				c.leased = append(c.leased, d.Lease(&e, c.claim.Token, c.claim.Worker, c.now))
			}
		}
		return rows.Err()
	}
}

// lockDue locks what is due and reads it then, in the order in which it was found:
// the lock of the row in recoup.due is enough, because nobody changes an error that
// has one without it.
func (s *Store) lockDue(ctx context.Context, t *tx, claim store.Claim) ([]recoup.Error, error) {
	limit := clamp(claim.Limit)
	ids := make([]recoup.ID, 0, limit)
	collect(t.queue(s.sql.claim, claim.Tables, t.due(), limit, raw(claim.Without)), pgx.RowTo[recoup.ID], &ids)
	if err := t.lock(ctx); err != nil || len(ids) == 0 {
		return nil, err
	}
	due, place := make([]recoup.Error, 0, len(ids)), make(map[recoup.ID]int, len(ids))
	collect(t.queue(s.sql.readIDs, raw(ids)), decode(s.sql.errors), &due)
	for i, id := range ids {
		place[id] = i
	}
	err := t.send(ctx)
	slices.SortFunc(due, func(a, b recoup.Error) int { return place[a.ID] - place[b.ID] })
	return due, err
}
