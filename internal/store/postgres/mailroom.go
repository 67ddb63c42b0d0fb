package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

// noticeRecordColumns are all that is kept of a notice.
var noticeRecordColumns = func() []column[store.NoticeRecord] {
	type n = store.NoticeRecord
	return []column[n]{
		id("notice_id", func(n *n) *recoup.ID { return &n.ID }),
		text("kind", func(n *n) *recoup.NoticeKind { return &n.Kind }),
		text("recipient", func(n *n) *string { return &n.To }),
		id("error_id", func(n *n) *recoup.ID { return &n.ErrorID }),
		text("dedup_key", func(n *n) *string { return &n.Key }),
		jsonText("body", func(n *n) *store.JSON { return &n.Body }),
		stamp("created_at", func(n *n) *time.Time { return &n.CreatedAt }),
		stamp("due_at", func(n *n) *time.Time { return &n.DueAt }),
		number("attempts", func(n *n) *int { return &n.Attempts }),
		stamp("delivered_at", func(n *n) *time.Time { return &n.DeliveredAt }),
		stamp("given_up_at", func(n *n) *time.Time { return &n.GivenUpAt }),
		text("last_error", func(n *n) *string { return &n.LastError }),
		id("resend_of", func(n *n) *recoup.ID { return &n.ResendOf }),
	}
}()

// Notices lists notices, newest first.
func (s *Store) Notices(ctx context.Context, f store.NoticeFilter, p store.Page) ([]store.NoticeRecord, store.Cursor, error) {
	q := noticeQuery(f, p)
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list notices", rows, err, decode(noticeRecordColumns))
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.CreatedAt, ID: last.ID}, nil
}

func noticeQuery(f store.NoticeFilter, p store.Page) *query {
	q := &query{}
	q.add("select " + names(noticeRecordColumns, "") + " from recoup.outbox where ")
	switch f.State {
	case "":
		q.add("true")
	case store.NoticeWaiting:
		q.add("due_at is not null")
	case store.NoticeDelivered:
		q.add("delivered_at is not null")
	case store.NoticeGivenUp:
		q.add("given_up_at is not null")
	default:
		q.add("false")
	}
	q.equal("recipient", f.To)
	q.equal("kind", string(f.Kind))
	if !p.Cursor.IsZero() {
		q.add(" and (created_at, notice_id) < (" + q.arg(p.Cursor.At) + ", " + q.arg(p.Cursor.ID[:]) + ")")
	}
	q.add(" order by created_at desc, notice_id desc limit " + q.arg(p.Size()))
	return q
}

// resent is a notice that was put in again, and what was given up.
type resent struct{ old, now recoup.ID }

// ResendNotices puts notices that were given up in again.
func (s *Store) ResendNotices(ctx context.Context, ids []recoup.ID, act store.Act) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = s.transact(ctx, "resend notices", time.Time{}, func(t *tx) error {
		var added []resent
		collect(t.queue(`insert into recoup.outbox (kind, recipient, error_id, body, created_at, due_at, dedup_key, resend_of)
			select kind, recipient, error_id, body, $2::timestamptz, $2::timestamptz, 'resend:' || notice_id, notice_id from recoup.outbox
			where notice_id = any ($1::uuid[]) and given_up_at is not null order by notice_id
			on conflict (dedup_key) where dedup_key is not null do nothing returning resend_of, notice_id`, raw(ids), act.At),
			func(row pgx.CollectableRow) (r resent, err error) { err = row.Scan(&r.old, &r.now); return r, err }, &added)
		if err := t.send(ctx); err != nil {
			return err
		}
		entries := make([]store.AuditEntry, len(added))
		for i, r := range added {
			entries[i] = act.On(store.ActNoticeResend, r.old.String(), map[string]any{"as": r.now.String()})
		}
		addRows(t, "recoup.audit", auditColumns, entries, "")
		if n = len(added); n > 0 {
			t.wake(store.WakeNotices)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// OutboxLevels says how much waits and how much was given up.
func (s *Store) OutboxLevels(ctx context.Context) (level store.OutboxLevel, err error) {
	var oldest *time.Time
	err = s.pool.QueryRow(ctx, `select
		(select count(*) from (select from recoup.outbox where due_at is not null limit $1) w),
		(select min(due_at) from recoup.outbox where due_at is not null),
		(select count(*) from (select from recoup.outbox where given_up_at is not null limit $1) g)`, store.MaxOutboxCount).
		Scan(&level.Waiting, &oldest, &level.GivenUp)
	if oldest != nil {
		level.OldestDue = oldest.UTC()
	}
	return level, failure("look at the outbox", err)
}
