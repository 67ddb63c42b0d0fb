package postgres

import (
	"context"
	"fmt"
	"time"

	"recoup/internal/store"
)

// overdue says of each kind where its times are, each at the front of an index,
// and which of them have come at a time.
var overdue = map[store.Deadline]struct{ at, from, where string }{
	store.DueExpiry:     {"expires_at", "recoup.error", "expires_at <= $1"},
	store.DueWindow:     {"window_ends_at", "recoup.due", "lease_token is null and window_ends_at < $1"},
	store.DueLapse:      {"d.lease_ends_at", leases, "l.ends_at <= $1"},
	store.DueEscalation: {"next_escalation_at", "recoup.error", "next_escalation_at <= $1"},
	store.DueReminder:   {"next_reminder_at", "recoup.error", "next_reminder_at <= $1 and state <> 'RESOLVED'"},
	store.DueResolved:   {"resolved_at", "recoup.resolved", "resolved_at <= $1"},
	store.DuePurge:      {"purge_at", "recoup.error_archive", "purge_at <= $1"},
	store.DueFreeze:     {"batch_freeze_at", "cl.gate_zero_batch", "frozen_at is null and batch_freeze_at <= $1"},
	store.DueReceipt:    {"expires_at", "recoup.idempotency", "expires_at <= $1"},
	store.DueNotice:     {endedAt, "recoup.outbox", "due_at is null and " + endedAt + " < $1"},
	store.DueProcessed:  {"hour", "recoup.processed_hour", "hour < $1"},
	store.DueHourly:     {"hour", "recoup.error_aggregate_hourly", "hour < $1"},
	store.DueDaily:      {"day", "recoup.error_aggregate_daily", "day < ($1::timestamptz at time zone 'UTC')::date"},
}

const endedAt = "coalesce(delivered_at, given_up_at)"

// overdueQuery returns the statement that counts what of a kind has come.
func overdueQuery(d store.Deadline) (string, error) {
	o, ok := overdue[d]
	if !ok {
		return "", fmt.Errorf("nothing of the kind %q is ever overdue", d)
	}
	return "select count(*), min(at)::timestamptz from (select " + o.at + " as at from " + o.from + " where " + o.where +
		" order by " + o.at + " limit $2) d", nil
}

// Overdue says how much of a kind has come at a time, at most limit, and since
// when.
func (s *Store) Overdue(ctx context.Context, d store.Deadline, at time.Time, limit int) (store.Overdue, error) {
	sql, err := overdueQuery(d)
	if err != nil {
		return store.Overdue{}, err
	}
	var n int
	var since *time.Time
	if err := s.pool.QueryRow(ctx, sql, at, max(limit, 1)).Scan(&n, &since); err != nil {
		return store.Overdue{}, failure("look for what is overdue", err)
	}
	if since == nil {
		return store.Overdue{}, nil
	}
	return store.Overdue{N: n, Since: since.UTC()}, nil
}
