package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// Error returns an error from its table or from the archive.
func (s *Store) Error(ctx context.Context, id recoup.ID) (recoup.Error, error) {
	for _, place := range []struct {
		sql     string
		columns []column[recoup.Error]
	}{{s.sql.readIDs, s.sql.errors}, {s.sql.archived, s.sql.archive}} {
		rows, err := s.pool.Query(ctx, place.sql, raw([]recoup.ID{id}))
		list, err := collectRows("read an error", rows, err, decode(place.columns))
		if err != nil {
			return recoup.Error{}, err
		}
		if len(list) == 1 {
			return list[0], nil
		}
	}
	return recoup.Error{}, fmt.Errorf("error %v: %w", id, store.ErrNotFound)
}

// Unadmitted returns rows written by plain SQL that no engine has seen yet,
// oldest first.
func (s *Store) Unadmitted(ctx context.Context, limit int) ([]recoup.Error, error) {
	rows, err := s.pool.Query(ctx, "select "+current(s.sql.errors)+fromError+
		" where e.policy_version is null order by e.created_at, e.error_id limit $1", clamp(limit))
	return collectRows("read what is not admitted", rows, err, decode(s.sql.errors))
}

// dueQuery returns the statement for a kind of deadline. Each repeats what
// lifecycle.Step asks of the input that meets the deadline.
func dueQuery(d store.Deadline) (string, error) {
	switch d {
	case store.DueExpiry:
		return "select error_id from recoup.error where expires_at <= $1 order by expires_at limit $2 offset $3", nil
	case store.DueWindow:
		return "select error_id from recoup.due where lease_token is null and window_ends_at < $1 order by window_ends_at limit $2 offset $3", nil
	case store.DueLapse:
		return "select d.error_id from " + leases + " where l.ends_at <= $1 order by l.ends_at limit $2 offset $3", nil
	case store.DueEscalation:
		return "select error_id from recoup.error where next_escalation_at <= $1 order by next_escalation_at limit $2 offset $3", nil
	case store.DueReminder:
		return "select error_id from recoup.error where next_reminder_at <= $1 and state <> 'RESOLVED' order by next_reminder_at limit $2 offset $3", nil
	case store.DueResolved:
		return "select error_id from recoup.resolved where resolved_at <= $1 order by resolved_at limit $2 offset $3", nil
	}
	return "", fmt.Errorf("there is no deadline %q", d)
}

// leases is where leases are that have run out at $1.
const leases = `recoup.lease l cross join lateral unnest(l.errors) as n (error_id) cross join lateral (
	select * from recoup.due where error_id = n.error_id and leased_at = l.leased_at and lease_ends_at <= $1 limit 1) d`

// tidyLeases forgets claims whose leases have all ended.
const tidyLeases = `delete from recoup.lease l where l.ends_at <= $1 and not exists (
	select from unnest(l.errors) as n (error_id) join recoup.due d on d.error_id = n.error_id and d.leased_at = l.leased_at)`

// Due returns ids of errors whose deadline has come, longest overdue first, without
// the first of them.
func (s *Store) Due(ctx context.Context, d store.Deadline, now time.Time, skip, limit int) ([]recoup.ID, error) {
	sql, err := dueQuery(d)
	if err != nil {
		return nil, err
	}
	if d == store.DueLapse && skip == 0 {
		if _, err := s.pool.Exec(ctx, tidyLeases, now); err != nil {
			return nil, failure("forget leases", err)
		}
	}
	rows, err := s.pool.Query(ctx, sql, now, clamp(limit), max(skip, 0))
	return collectRows("read what is due", rows, err, pgx.RowTo[recoup.ID])
}
