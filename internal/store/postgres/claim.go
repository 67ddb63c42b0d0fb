package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
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
	if err != nil && len(leased) > 0 {
		return leased, nil // what is leased is leased; the rest may be had next time
	}
	return append(leased, rest...), err
}

// claimEach looks at all that is due and decides on each error for itself.
func (s *Store) claimEach(ctx context.Context, claim store.Claim) (leased []recoup.Error, err error) {
	decide := func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		return claim.Decide(current, now)
	}
	err = s.transact(ctx, "claim", claim.Now, func(t *tx) error {
		leased = nil
		due, err := s.lockDue(ctx, t, claim)
		if err != nil || len(due) == 0 {
			return err
		}
		w := store.NewWork(t.now, due)
		w.Memory = s.memory
		leased = make([]recoup.Error, 0, len(due))
		last := map[string]time.Time{}
		for i := range due {
			if e := &due[i]; e.LeaseToken.IsZero() && e.NextRetryAt.After(last[e.Table]) {
				last[e.Table] = e.NextRetryAt
			}
			out := w.Step(store.Step{ID: due[i].ID, Decide: decide, Tell: claim.Tell, Result: &store.Result{Like: claim.Like}})
			if out.Err == nil && !out.Error.LeaseToken.IsZero() {
				leased = append(leased, out.Error)
			}
		}
		s.write(t, w)
		s.marks.looked(t.now, len(due) >= clamp(claim.Limit), last)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

// claimDue leases, in one statement, what nobody holds of the tables and policies
// for which it was decided before. Each gets a token of its own, made of the claim's
// and its id. What it returns of an error is as the statement saw it; that it is
// due and free is as its lock found it.
var claimDue = `with m as materialized (select * from unnest($6::text[], $7::text[], $8::int8[]) as m (table_name, policy_version, wait)),
	act as materialized (select ` + clockOr("$3") + ` as now),
	free as materialized (select d.place from unnest($1::text[], $2::timestamptz[]) as t (name, first), act cross join lateral (
			select ctid as place from recoup.due
			where table_name = t.name and due_at between t.first and ` + clockOr("$3") + ` and lease_token is null
				and (window_ends_at is null or window_ends_at >= act.now) and (expires_at is null or expires_at > act.now)
				and table_name || ' ' || policy_version = any ($9::text[])
			order by due_at limit $4 for update skip locked) d
		limit $4),
	d as (update recoup.due q set lease_token = (substr($5, 1, 16) || '8' || substr(md5($5 || q.error_id), 1, 15))::uuid, lease_worker = $10, leased_at = act.now, lease_ends_at = act.now + m.wait * interval '1 microsecond'
		from m, act where q.ctid = any (array(select place from free)) and q.table_name = m.table_name and q.policy_version = m.policy_version
		returning q.error_id, q.due_at, q.lease_token, q.lease_worker, q.leased_at, q.lease_ends_at),
	noted as (insert into recoup.lease select min(leased_at), min(lease_ends_at), array_agg(error_id) from d having count(*) > 0)
	select ` + current(currentColumns()) + `, d.due_at from d join recoup.error e on e.error_id = d.error_id`

// claimAlike leases what can be leased without asking, beginning where this node's
// last claim ended; nothing if everything is to be looked at.
func (s *Store) claimAlike(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	decisions := s.memory.Of(claim.Like)
	from, ok := s.marks.from(claim.Tables)
	if !ok || len(decisions) == 0 {
		return nil, nil
	}
	tables, versions, known, waits := make([]string, len(decisions)), make([]string, len(decisions)), make([]string, len(decisions)), make([]int64, len(decisions))
	for i, d := range decisions {
		tables[i], versions[i], waits[i] = d.Was.Table, d.Was.PolicyVersion, d.Wait().Microseconds()
		known[i] = tables[i] + " " + versions[i]
	}
	limit, last := clamp(claim.Limit), map[string]time.Time(nil)
	var leased []recoup.Error
	err := s.transact(ctx, "claim", claim.Now, func(t *tx) error {
		leased, last = make([]recoup.Error, 0, limit), map[string]time.Time{}
		t.steer()
		collect(t.queue(claimDue, claim.Tables, from, t.due(), limit, hex.EncodeToString(claim.Token[:]), tables, versions, waits, known, claim.Worker),
			s.readClaimed(last), &leased)
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := claim.Now
	if len(leased) > 0 {
		now = leased[0].LeasedAt
	}
	s.marks.passed(now, len(leased) >= limit, last)
	return leased, nil
}

// lockDue locks what is due and reads it then, in the order in which it was found:
// the lock of the row in recoup.due is enough, because nobody changes an error that
// has one without it.
func (s *Store) lockDue(ctx context.Context, t *tx, claim store.Claim) ([]recoup.Error, error) {
	limit := clamp(claim.Limit)
	ids := make([]recoup.ID, 0, limit)
	collect(t.queue(s.sql.claim, claim.Tables, t.due(), limit), pgx.RowTo[recoup.ID], &ids)
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

// readClaimed reads what was leased, and notes when the last of each table was due.
func (s *Store) readClaimed(last map[string]time.Time) pgx.RowToFunc[recoup.Error] {
	row, columns := decode(s.sql.errors), len(s.sql.errors)
	return func(r pgx.CollectableRow) (recoup.Error, error) {
		e, err := row(r)
		at, bad := integer("due_at", r.RawValues()[columns])
		if due := time.UnixMicro(at + epoch); bad == nil && due.After(last[e.Table]) {
			last[e.Table] = due
		}
		return e, errors.Join(err, bad)
	}
}
