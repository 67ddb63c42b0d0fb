package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// selectDue and selectLapsed read what lifecycle.Claim accepts: errors whose time has
// come, of which no lease is live, which have not expired and whose window is open. A
// expired lease is claimable beyond its window, because the claim is what counts it as
// failed. ?2 is the time.
var (
	selectDue = selectStored + ` indexed by error_due_idx
		where table_name = ?1 and state = 'RETRY_PENDING' and lease_token is null and next_retry_at <= ?2
		and (expires_at is null or expires_at > ?2) and (retry_window_ends_at is null or retry_window_ends_at >= ?2)
		order by next_retry_at limit 0 + ?3`
	selectLapsed = selectStored + ` indexed by error_lease_idx
		where lease_token is not null and lease_ends_at <= ?1 and state = 'RETRY_PENDING' and next_retry_at <= ?1
		and (expires_at is null or expires_at > ?1) and table_name in (select value from json_each(?2))
		order by lease_ends_at limit 0 + ?3`
)

// ClaimDue leases due errors. Tables are served in the order in which they are
// named, and in each the longest overdue error comes first. There is one writer,
// so no error is handed to two claimers.
func (s *Store) ClaimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	var leased []recoup.Error
	err := s.writer.doAt(ctx, "claim errors", claim.Now, func(tx *tx) error {
		due, err := tx.loadDue(claim)
		if err != nil || len(due) == 0 {
			return err
		}
		leased, err = tx.leaseDue(s.memory, claim, due)
		return err
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

// leaseDue leases what is due: by a remembered decision where one fits the error, else
// each by a decision of its own.
func (t *tx) leaseDue(m *store.DecisionCache, claim store.Claim, due []recoup.Error) ([]recoup.Error, error) {
	var (
		decisions = m.Of(claim.Like)
		stands    = make([]*lifecycle.Decision, len(due))
		alone     = make([]recoup.Error, 0)
		known     = newUpdates()
		kept      = make([]recoup.Error, 0, len(due))
		leased    = make([]recoup.Error, 0, len(due))
	)
	for i := range due {
		if stands[i] = matchDecision(decisions, &due[i], t.now); stands[i] == nil {
			alone = append(alone, due[i])
		}
	}
	w := store.NewUnitOfWork(t.now, alone)
	w.Memory = m
	step := store.Step{EventOf: claim.EventOf, Result: &store.Result{Like: claim.Like}}
	step.Decide = func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		return claim.Decide(current, now)
	}
	for i := range due {
		if d := stands[i]; d != nil {
			e, row := &due[i], t.rows[due[i].ID]
			kept = append(kept, d.Lease(e, tokenOf(claim.Token, e.ID), claim.Worker, t.now))
			leased = append(leased, kept[len(kept)-1])
			if err := known.add(row, e, &leased[len(leased)-1]); err != nil {
				return nil, err
			}
			t.held.keep(&kept[len(kept)-1], row)
			continue
		}
		step.ID = due[i].ID
		if out := w.Step(step); out.Err == nil && !out.Error.LeaseToken.IsZero() {
			leased = append(leased, out.Error)
		}
	}
	if err := known.save(t); err != nil {
		return nil, err
	}
	return leased, t.save(w)
}

func (t *tx) loadDue(claim store.Claim) ([]recoup.Error, error) {
	limit, without := min(max(claim.Limit, 0), sqldb.MaxPage), len(claim.Without)
	tables, err := json.Marshal(claim.Tables)
	if err != nil {
		return nil, err
	}
	lapsed, err := t.stored(selectLapsed, micros(t.now), string(tables), limit+without)
	if err != nil {
		return nil, err
	}
	var rows []recoup.Error
	for _, table := range claim.Tables {
		due, err := t.stored(selectDue, table, micros(t.now), limit-len(rows)+without)
		if err != nil {
			return nil, err
		}
		if len(lapsed) > 0 {
			due = merge(due, lapsed, table)
		}
		if without > 0 {
			due = slices.DeleteFunc(due, func(e recoup.Error) bool { return slices.Contains(claim.Without, e.ID) })
		}
		if due = due[:min(len(due), limit-len(rows))]; rows == nil {
			rows = due
		} else {
			rows = append(rows, due...)
		}
	}
	return rows, nil
}

// merge adds the expired leases of a table to what is due, the longest overdue first.
func merge(due, lapsed []recoup.Error, table string) []recoup.Error {
	for i := range lapsed {
		if lapsed[i].Table == table {
			due = append(due, lapsed[i])
		}
	}
	slices.SortStableFunc(due, func(a, b recoup.Error) int { return a.NextRetryAt.Compare(b.NextRetryAt) })
	return due
}
