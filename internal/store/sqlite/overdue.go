package sqlite

import (
	"context"
	"fmt"
	"time"

	"recoup/internal/store"
)

// selectOverdue counts of each kind what has come at a time, by an index.
var selectOverdue = map[store.Deadline]string{
	store.DueExpiry:     countDue("expires_at", "error", "expires_at <= ?"),
	store.DueWindow:     countDue("retry_window_ends_at", "error", "state = 'RETRY_PENDING' and lease_token is null and retry_window_ends_at < ?"),
	store.DueLapse:      countDue("lease_ends_at", "error", "lease_token is not null and lease_ends_at <= ?"),
	store.DueEscalation: countDue("next_escalation_at", "error", "next_escalation_at <= ?"),
	store.DueReminder:   countDue("next_reminder_at", "error", "next_reminder_at <= ?"),
	store.DueResolved:   countDue("resolved_at", "error", "state = 'RESOLVED' and resolved_at <= ?"),
	store.DuePurge:      countDue("purge_at", "error_archive", "purge_at <= ?"),
	store.DueFreeze:     countDue("batch_freeze_at", "gate_zero_batch", "frozen_at is null and batch_freeze_at <= ?"),
	store.DueReceipt:    countDue("expires_at", "idempotency", "expires_at <= ?"),
	store.DueNotice:     countDue(endedAt, "outbox", "due_at is null and "+endedAt+" < ?"),
	store.DueProcessed:  countDue("hour", "processed_hour", "hour < ?"),
	store.DueHourly:     countDue("hour", "error_aggregate_hourly", "hour < ?"),
	store.DueDaily:      countDue("day", "error_aggregate_daily", "day < ?"),
}

const endedAt = "coalesce(delivered_at, given_up_at)"

func countDue(at, from, where string) string {
	return "select count(*), min(at) from (select " + at + " as at from " + from + " where " + where + " order by " + at + " limit 0 + ?)"
}

// Overdue says how much of a kind has come at a time, at most limit, and since
// when.
func (s *Store) Overdue(ctx context.Context, d store.Deadline, at time.Time, limit int) (store.Overdue, error) {
	text, ok := selectOverdue[d]
	if !ok {
		return store.Overdue{}, fmt.Errorf("sqlite: nothing of the kind %q is ever overdue", d)
	}
	if d == store.DueDaily {
		at = store.Day(at)
	}
	found, err := query(ctx, s, func(o *store.Overdue) []any { return []any{&o.N, stamp{&o.Since}} }, text, micros(at), max(limit, 1))
	if err != nil {
		return store.Overdue{}, err
	}
	return found[0], nil
}
