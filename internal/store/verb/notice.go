package verb

import (
	"context"
	"slices"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/row"
)

var (
	notices = table(store.Notices, "notice")
	pending = table(row.Table[recoup.Notice]{Name: store.Notices.Name, Columns: store.PendingNotices}, "notice")
)

// PendingNotices returns notices that wait to be delivered, longest due first.
func (v Verbs) PendingNotices(ctx context.Context, limit int) ([]recoup.Notice, error) {
	return pending.list(ctx, v, pending.ask("read the outbox", "where due_at is not null order by due_at limit $1", clamp(limit)))
}

// AddNotices adds notices that no error causes.
func (v Verbs) AddNotices(ctx context.Context, now time.Time, list []recoup.Notice) (int, error) {
	for _, n := range list {
		if err := n.Body.Check(); err != nil {
			return 0, err
		}
	}
	if len(list) == 0 {
		return 0, nil
	}
	return act(ctx, v, "add notices", func(tx Tx) (int, error) { return AddNotices(tx, now, list) })
}

// AddNotices adds notices, but for those whose key is known, and returns how many.
func AddNotices(tx Tx, now time.Time, list []recoup.Notice) (int, error) {
	if len(list) == 0 {
		return 0, nil
	}
	tx.Wake(store.WakeNotices)
	return tx.AddNew(NoticeBatch(now, list))
}

// NoticeBatch is notices that are due at once. They go in by the order of their
// keys, so that two nodes that add the same do not wait for each other crosswise.
func NoticeBatch(now time.Time, list []recoup.Notice) row.Batch {
	added := slices.Clone(list)
	for i := range added {
		added[i].CreatedAt, added[i].DueAt = now, now
	}
	slices.SortStableFunc(added, func(a, b recoup.Notice) int { return strings.Compare(a.Key, b.Key) })
	return notices.create.Batch(added)
}

// ClaimNotices takes notices that are due, for as long as a lease. Rows that
// another node takes at this moment are passed over.
func (v Verbs) ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]recoup.Notice, error) {
	return act(ctx, v, "claim notices", func(tx Tx) (list []recoup.Notice, err error) {
		err = tx.Query(pending.ask("", "where due_at <= $1 order by due_at limit $2 for no key update skip locked", now, clamp(limit)), row.Into(&list, pending.Columns))
		if err != nil || len(list) == 0 {
			return nil, err
		}
		each := taken(list, now.Add(lease))
		for i := range list {
			list[i].Attempts++
		}
		slices.SortFunc(list, store.OlderNotice)
		_, err = tx.Change("update recoup.outbox set due_at = $1, attempts = attempts + 1 where notice_id = any ($2::uuid[])", each...)
		return list, err
	})
}

// taken says until when notices are taken, as lists of arguments. Those that came to
// be due together, because they were tried together, do so again, apart from all
// others: the time of each such group is a microsecond after that of the one before.
func taken(list []recoup.Notice, until time.Time) (each [][]any) {
	groups := map[time.Time][]recoup.ID{}
	var order []time.Time
	for _, n := range list {
		due := n.DueAt
		if n.Attempts == 0 {
			due = time.Time{} // it is new, as are others
		}
		if groups[due] == nil {
			order = append(order, due)
		}
		groups[due] = append(groups[due], n.ID)
	}
	for i, due := range order {
		each = append(each, []any{until.Add(time.Duration(i) * time.Microsecond), groups[due]})
	}
	return each
}

// WaitingNotices returns the notices of a kind that wait, oldest first: those of some
// errors, or those that no error causes.
func (v Verbs) WaitingNotices(ctx context.Context, kind recoup.NoticeKind, errors []recoup.ID) ([]recoup.Notice, error) {
	list, err := pending.list(ctx, v, waitingQuery(kind, errors))
	slices.SortFunc(list, store.OlderNotice)
	return list, err
}

// waitingQuery names the kinds outright, so that their index can serve.
func waitingQuery(kind recoup.NoticeKind, errors []recoup.ID) *Query {
	q := pending.ask("read the outbox", `/*by outbox_span_idx*/
		where due_at is not null and kind in ('PAGE', 'ALERT', 'JOB_LATE', 'JOB_RECOVERED') and kind = $1`, string(kind))
	if len(errors) > 0 {
		q.anyOf("error_id", errors)
	} else {
		q.add(" and error_id is null")
	}
	return q.add(" limit " + q.arg(store.MaxWaitingNotices))
}

// FinishNotices notes what became of deliveries, and returns of how many: those
// of an attempt that is not the last one any more are passed over. They are taken in
// the order of their ids, so that nodes do not wait for each other crosswise.
func (v Verbs) FinishNotices(ctx context.Context, now time.Time, deliveries []store.Delivery) (int, error) {
	sorted := slices.SortedFunc(slices.Values(deliveries), func(a, b store.Delivery) int { return slices.Compare(a.ID[:], b.ID[:]) })
	each := make([][]any, len(sorted))
	for i, d := range sorted {
		var due, delivered, givenUp time.Time
		switch {
		case d.Delivered:
			delivered = now
		case d.RetryAt.IsZero():
			givenUp = now
		default:
			due = d.RetryAt
		}
		each[i] = []any{d.ID, d.Attempt, null(due), null(delivered), null(givenUp), null(d.Error)}
	}
	return act(ctx, v, "finish notices", func(tx Tx) (int, error) {
		return tx.Change(`update recoup.outbox set due_at = $3, delivered_at = $4, given_up_at = $5, last_error = $6
			where notice_id = $1 and attempts = $2 and due_at is not null`, each...)
	})
}

// null is nothing in place of a zero value.
func null[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// PurgeNotices deletes at most limit notices that were delivered or given up
// before a time.
func (v Verbs) PurgeNotices(ctx context.Context, before time.Time, limit int) (int, error) {
	return v.purge(ctx, "purge notices", `delete from recoup.outbox where notice_id = any (array(
		select notice_id from recoup.outbox where due_at is null and coalesce(delivered_at, given_up_at) < $1
		order by coalesce(delivered_at, given_up_at) limit $2 for update skip locked))`, before, clamp(limit))
}

// purge runs one statement that deletes, and returns how many rows it deleted.
func (v Verbs) purge(ctx context.Context, doing, sql string, args ...any) (int, error) {
	return act(ctx, v, doing, func(tx Tx) (int, error) { return tx.Change(sql, args) })
}

// Notices lists notices, newest first.
func (v Verbs) Notices(ctx context.Context, f recoup.NoticeFilter, p store.Page) ([]recoup.Notice, store.Cursor, error) {
	return notices.page(ctx, v, noticeQuery(f, p), p, func(n *recoup.Notice) store.Cursor { return store.Cursor{At: n.CreatedAt, ID: n.ID} })
}

func noticeQuery(f recoup.NoticeFilter, p store.Page) *Query {
	index, where := "list", "true"
	switch f.State {
	case "":
	case recoup.NoticeWaiting:
		index, where = "waiting", "due_at is not null"
	case recoup.NoticeDelivered:
		where = "delivered_at is not null"
	case recoup.NoticeGivenUp:
		index, where = "given_up", "given_up_at is not null"
	default:
		where = "false"
	}
	q := notices.ask("list notices", "/*by outbox_"+index+"_idx*/ where "+where)
	q.equal("recipient", f.To)
	q.equal("kind", string(f.Kind))
	return q.newest("created_at", "notice_id", p)
}

// ResendNotices puts notices that were given up in again, each once.
func (v Verbs) ResendNotices(ctx context.Context, ids []recoup.ID, by store.Act) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return act(ctx, v, "resend notices", func(tx Tx) (int, error) {
		q := notices.ask("", "where given_up_at is not null")
		q.anyOf("notice_id", ids)
		var old, again []recoup.Notice
		if err := tx.Query(q.add(" order by notice_id"), row.Into(&old, notices.Columns)); err != nil || len(old) == 0 {
			return 0, err
		}
		for _, n := range old {
			again = append(again, recoup.Notice{
				Kind: n.Kind, To: n.To, ErrorID: n.ErrorID, Body: n.Body, Key: store.ResendKey(n.ID), CreatedAt: by.At, DueAt: by.At, ResendOf: n.ID,
			})
		}
		return resend(tx, again, by)
	})
}

// resend adds notices, and records in the audit the id of each that is new.
func resend(tx Tx, again []recoup.Notice, by store.Act) (int, error) {
	n := 0
	for _, notice := range again {
		added, err := tx.AddNew(notices.create.Batch([]recoup.Notice{notice}))
		if err != nil {
			return n, err
		}
		if added == 0 {
			continue // it was requeued before
		}
		stored, err := notices.find(tx, "where dedup_key = $1", notice.Key)
		as, err := one(stored, err, "notice")
		if err != nil {
			return n, err
		}
		if err := audits.add(tx, by.On(store.ActNoticeResend, notice.ResendOf.String(), map[string]any{"as": as.ID.String()})); err != nil {
			return n, err
		}
		n++
		tx.Wake(store.WakeNotices)
	}
	return n, nil
}

const outboxLevels = `select
	(select count(*) from (select 1 from recoup.outbox where due_at is not null limit $1) w),
	(select min(due_at) from recoup.outbox where due_at is not null),
	(select count(*) from (select 1 from recoup.outbox where given_up_at is not null limit $1) g)`

// OutboxLevels says how much waits and how much was given up.
func (v Verbs) OutboxLevels(ctx context.Context) (store.OutboxLevel, error) {
	type level = store.OutboxLevel
	list, err := rows(ctx, v, ask("look at the outbox", outboxLevels, store.MaxOutboxCount),
		row.Big("waiting", func(l *level) *int64 { return &l.Waiting }),
		row.Time("oldest", func(l *level) *time.Time { return &l.OldestDue }),
		row.Big("given_up", func(l *level) *int64 { return &l.GivenUp }))
	return one(list, err, "the outbox")
}
