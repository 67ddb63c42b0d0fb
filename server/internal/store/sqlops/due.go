package sqlops

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// deadline is where the times of a kind are, and which of them have come at $1. Each
// has its index.
type deadline struct {
	at, from, where string
	order           string // of the index, if that is not at
}

// dueErrors repeats for each deadline of errors what lifecycle.Step asks of the input that
// meets it.
var dueErrors = sqldb.PerDialect(func(d sqldb.Dialect) map[store.Deadline]deadline {
	return map[store.Deadline]deadline{
		store.DueExpiry:     {at: "expires_at", from: "recoup.error", where: "expires_at <= $1"},
		store.DueWindow:     {at: "window_ends_at", from: "recoup.due", where: "lease_token is null and window_ends_at < $1"},
		store.DueLapse:      {at: "lease_ends_at", from: leased(d), where: "ends_at <= $1 and lease_ends_at <= $1", order: "ends_at"},
		store.DueEscalation: {at: "next_escalation_at", from: "recoup.error", where: "next_escalation_at <= $1"},
		store.DueReminder:   {at: "next_reminder_at", from: "recoup.error", where: "next_reminder_at <= $1 and state <> 'RESOLVED'"},
		store.DueResolved:   {at: "resolved_at", from: "recoup.resolved", where: "resolved_at <= $1"},
	}
})

// leased is what workers hold, by the claims that leased it. In SQLite's files each error
// has its own lease.
func leased(d sqldb.Dialect) string {
	return d.Either(`recoup.lease l cross join lateral unnest(l.errors) as n (held) cross join lateral (
	select * from recoup.due where error_id = n.held and leased_at = l.leased_at limit 1) d`, "recoup.lease")
}

const endedAt = "coalesce(delivered_at, given_up_at)"

var dueRest = map[store.Deadline]deadline{
	store.DuePurge:     {at: "purge_at", from: "recoup.error_archive", where: "purge_at <= $1"},
	store.DueReceipt:   {at: "expires_at", from: "recoup.idempotency", where: "expires_at <= $1"},
	store.DueNotice:    {at: endedAt, from: "recoup.outbox", where: "due_at is null and " + endedAt + " < $1"},
	store.DueProcessed: {at: "hour", from: "recoup.processed_hour", where: "hour < $1"},
	store.DueHourly:    {at: "hour", from: "recoup.error_aggregate_hourly", where: "hour < $1"},
	store.DueDaily:     {at: "day", from: "recoup.error_aggregate_daily", where: "day < $1::date"},
}

// Due returns ids of errors whose deadline has come, longest overdue first, without
// the first of them.
func (v Ops) Due(ctx context.Context, d store.Deadline, now time.Time, skip, limit int) ([]recoup.ID, error) {
	of, known := dueErrors(v.db.Dialect())[d]
	if !known {
		return nil, fmt.Errorf("there is no deadline %q", d)
	}
	return sqldb.Rows(ctx, v.db, sqldb.NewQuery("read what is due", "select error_id from "+of.from+" where "+of.where+
		" order by "+cmp.Or(of.order, of.at)+" limit $2 offset $3", now, sqldb.Clamp(limit), max(skip, 0)), sqldb.IDColumn()...)
}

var overdue = sqldb.Fields(func(o *store.Overdue) []any { return []any{&o.N, &o.Since} })

// Overdue says how much of a kind has come at a time, at most limit, and since
// when.
func (v Ops) Overdue(ctx context.Context, d store.Deadline, at time.Time, limit int) (store.Overdue, error) {
	of, known := dueErrors(v.db.Dialect())[d]
	if !known {
		of, known = dueRest[d]
	}
	if !known {
		return store.Overdue{}, fmt.Errorf("nothing of the kind %q is ever overdue", d)
	}
	if d == store.DueDaily {
		at = store.Day(at)
	}
	found, err := sqldb.Rows(ctx, v.db, sqldb.NewQuery("look for what is overdue", "select count(*), min(at)::timestamptz from (select "+of.at+" as at from "+of.from+
		" where "+of.where+" order by "+cmp.Or(of.order, of.at)+" limit $2) d", at, max(limit, 1)), overdue...)
	return sqldb.One(found, err, string(d))
}
