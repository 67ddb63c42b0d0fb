package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// selectDue and selectLapsed read what lifecycle.Claim accepts: errors whose time has
// come, of which no lease is live, which have not expired and whose window is open. A
// lapsed lease is claimable beyond its window, because the claim is what counts it as
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
	decide := func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		return claim.Decide(current, now)
	}
	var leased []recoup.Error
	err := s.writer.doAt(ctx, claim.Now, func(tx *tx) error {
		rows, err := tx.loadDue(claim)
		if err != nil {
			return err
		}
		w := store.NewWork(tx.now, rows)
		leased = make([]recoup.Error, 0, len(rows))
		for i := range rows {
			out := w.Step(store.Step{ID: rows[i].ID, Decide: decide, Tell: claim.Tell})
			if out.Err == nil && !out.Error.LeaseToken.IsZero() {
				leased = append(leased, out.Error)
			}
		}
		return tx.save(w)
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

func (t *tx) loadDue(claim store.Claim) ([]recoup.Error, error) {
	limit := min(max(claim.Limit, 0), store.MaxPage)
	tables, err := json.Marshal(claim.Tables)
	if err != nil {
		return nil, err
	}
	lapsed, err := t.stored(selectLapsed, micros(t.now), string(tables), limit)
	if err != nil {
		return nil, err
	}
	var rows []recoup.Error
	for _, table := range claim.Tables {
		due, err := t.stored(selectDue, table, micros(t.now), limit-len(rows))
		if err != nil {
			return nil, err
		}
		if len(lapsed) > 0 {
			due = merge(due, lapsed, table)
		}
		if due = due[:min(len(due), limit-len(rows))]; rows == nil {
			rows = due
		} else {
			rows = append(rows, due...)
		}
	}
	return rows, nil
}

// merge adds the lapsed leases of a table to what is due, the longest overdue first.
func merge(due, lapsed []recoup.Error, table string) []recoup.Error {
	for i := range lapsed {
		if lapsed[i].Table == table {
			due = append(due, lapsed[i])
		}
	}
	slices.SortStableFunc(due, func(a, b recoup.Error) int { return a.NextRetryAt.Compare(b.NextRetryAt) })
	return due
}
