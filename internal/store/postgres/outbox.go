package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"recoup"
	"recoup/internal/store"
)

// PendingNotices returns notices that wait to be delivered, longest due first.
func (s *Store) PendingNotices(ctx context.Context, limit int) ([]store.PendingNotice, error) {
	rows, err := s.pool.Query(ctx, "select "+names(pendingColumns, "")+`
		from recoup.outbox where due_at is not null order by due_at limit $1`, clamp(limit))
	return collectRows("read the outbox", rows, err, decode(pendingColumns))
}

// AddNotices adds notices that no error causes.
func (s *Store) AddNotices(ctx context.Context, now time.Time, notices []store.Notice) (added int, err error) {
	for _, n := range notices {
		if err := n.Body.Check(); err != nil {
			return 0, err
		}
	}
	if len(notices) == 0 {
		return 0, nil
	}
	err = s.transact(ctx, "add notices", time.Time{}, func(t *tx) error {
		addNotices(t, now, notices).Exec(count(&added))
		return nil
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// addNotices queues notices. They go in by the order of their keys, so that two
// nodes that add the same do not wait for each other crosswise.
func addNotices(t *tx, now time.Time, notices []store.Notice) *pgx.QueuedQuery {
	sorted := slices.SortedStableFunc(slices.Values(notices), func(a, b store.Notice) int { return strings.Compare(a.Key, b.Key) })
	columns := append(noticeColumns(now),
		text("dedup_key", func(n *store.Notice) *string { return &n.Key }),
		jsonText("body", func(n *store.Notice) *store.JSON { return &n.Body }))
	b := newBatch(columns, pointers(sorted))
	t.wake(store.WakeNotices)
	return t.queue(b.insert("recoup.outbox")+" on conflict (dedup_key) where dedup_key is not null do nothing", b.args...)
}

// count takes up how many rows a queued statement has changed.
func count(into *int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		*into = int(tag.RowsAffected())
		return nil
	}
}

var claimNotices = `update recoup.outbox o set due_at = $2, attempts = o.attempts + 1
	from (select notice_id as id from recoup.outbox where due_at <= $1 order by due_at limit $3 for no key update skip locked) d
	where o.notice_id = d.id returning ` + names(pendingColumns, "o.")

// ClaimNotices takes notices that are due, for as long as a lease. Rows that
// another node takes at this moment are passed over.
func (s *Store) ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) (list []store.PendingNotice, err error) {
	err = s.transact(ctx, "claim notices", time.Time{}, func(t *tx) error {
		list = nil
		collect(t.queue(claimNotices, now, now.Add(lease), clamp(limit)), decode(pendingColumns), &list)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, store.OlderNotice)
	return list, nil
}

// WaitingNotices returns the notices of a kind that wait, oldest first: those of some
// errors, or those that no error causes.
func (s *Store) WaitingNotices(ctx context.Context, kind recoup.NoticeKind, errors []recoup.ID) ([]store.PendingNotice, error) {
	q := waitingQuery(kind, errors)
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("read the outbox", rows, err, decode(pendingColumns))
	slices.SortFunc(list, store.OlderNotice)
	return list, err
}

// waitingQuery names the kinds outright, so that their index can serve.
func waitingQuery(kind recoup.NoticeKind, errors []recoup.ID) *query {
	q := &query{}
	q.add("select " + names(pendingColumns, "") + ` from recoup.outbox
		where due_at is not null and kind in ('PAGE', 'ALERT', 'JOB_LATE', 'JOB_RECOVERED') and kind = ` + q.arg(string(kind)))
	if len(errors) > 0 {
		q.add(" and error_id = any (" + q.arg(raw(errors)) + "::uuid[])")
	} else {
		q.add(" and error_id is null")
	}
	q.add(" limit " + q.arg(store.MaxWaitingNotices))
	return q
}

// FinishNotices notes what became of deliveries, and returns of how many: those
// of an attempt that is not the last one any more are passed over.
func (s *Store) FinishNotices(ctx context.Context, now time.Time, deliveries []store.Delivery) (finished int, err error) {
	var ids [][]byte
	var attempts []int32
	var delivered []bool
	var retries []*time.Time
	var reasons []string
	for i := range deliveries {
		d := &deliveries[i]
		ids, attempts, delivered = append(ids, d.ID[:]), append(attempts, int32(d.Attempt)), append(delivered, d.Delivered)
		retries, reasons = append(retries, optional(d.RetryAt)), append(reasons, d.Error)
	}
	err = s.transact(ctx, "finish notices", time.Time{}, func(t *tx) error {
		t.queue("select from recoup.outbox where notice_id = any ($1::uuid[]) order by notice_id for no key update", ids)
		t.queue(`update recoup.outbox o set
				due_at = case when not d.delivered then d.retry_at end,
				delivered_at = case when d.delivered then $6::timestamptz end,
				given_up_at = case when not d.delivered and d.retry_at is null then $6::timestamptz end,
				last_error = nullif(d.error, '')
			from unnest($1::uuid[], $2::int[], $3::bool[], $4::timestamptz[], $5::text[]) as d (id, attempt, delivered, retry_at, error)
			where o.notice_id = d.id and o.attempts = d.attempt and o.due_at is not null`,
			ids, attempts, delivered, retries, reasons, now).Exec(count(&finished))
		return nil
	})
	if err != nil {
		return 0, err
	}
	return finished, nil
}

// PurgeNotices deletes at most limit notices that were delivered or given up
// before a time.
func (s *Store) PurgeNotices(ctx context.Context, before time.Time, limit int) (int, error) {
	tag, err := s.pool.Exec(ctx, `delete from recoup.outbox where notice_id = any (array(
		select notice_id from recoup.outbox where due_at is null and coalesce(delivered_at, given_up_at) < $1
		order by coalesce(delivered_at, given_up_at) limit $2 for update skip locked))`, before, clamp(limit))
	return int(tag.RowsAffected()), failure("purge notices", err)
}
