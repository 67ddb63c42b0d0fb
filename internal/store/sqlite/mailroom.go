package sqlite

import (
	"context"
	"math"

	"recoup"
	"recoup/internal/store"
)

const (
	noticeRecordColumns = pendingColumns + `, delivered_at, given_up_at, last_error, resend_of`

	resendNotice = `insert into outbox (kind, recipient, error_id, body, created_at, due_at, dedup_key, resend_of)
		select kind, recipient, error_id, body, ?2, ?2, ?3, notice_id from outbox where notice_id = ?1 and given_up_at is not null
			and not exists (select 1 from outbox where dedup_key = ?3) returning notice_id`

	selectOutboxLevels = `select
		(select count(*) from (select 1 from outbox where due_at is not null limit ?1)),
		(select min(due_at) from outbox where due_at is not null),
		(select count(*) from (select 1 from outbox where given_up_at is not null limit ?1))`
)

func noticeRecordFields(n *store.NoticeRecord) []any {
	return append(pendingFields(&n.PendingNotice), stamp{&n.DeliveredAt}, stamp{&n.GivenUpAt}, text[string]{&n.LastError}, id{&n.ResendOf})
}

// Notices lists notices, newest first.
func (s *Store) Notices(ctx context.Context, f store.NoticeFilter, p store.Page) ([]store.NoticeRecord, store.Cursor, error) {
	text, args := listNotices(f, p)
	list, err := query(ctx, s, noticeRecordFields, text, args...)
	if err != nil || len(list) < p.Size() {
		return list, store.Cursor{}, err
	}
	last := &list[len(list)-1]
	return list, store.Cursor{At: last.CreatedAt, ID: last.ID}, nil
}

func listNotices(f store.NoticeFilter, p store.Page) (string, []any) {
	index, where := "outbox_list_idx", "true"
	switch f.State {
	case "":
	case store.NoticeWaiting:
		index, where = "outbox_waiting_idx", "due_at is not null"
	case store.NoticeDelivered:
		where = "delivered_at is not null"
	case store.NoticeGivenUp:
		index, where = "outbox_given_up_idx", "given_up_at is not null"
	default:
		where = "false"
	}
	args := []any{from(p.Cursor.At, math.MaxInt64), p.Cursor.ID[:]}
	if f.To != "" {
		where, args = where+" and recipient = ?", append(args, f.To)
	}
	if f.Kind != "" {
		where, args = where+" and kind = ?", append(args, string(f.Kind))
	}
	return "select " + noticeRecordColumns + " from outbox indexed by " + index + " where (created_at, notice_id) < (?, ?) and " + where +
		" order by created_at desc, notice_id desc limit 0 + ?", append(args, p.Size())
}

// ResendNotices puts notices that were given up in again.
func (s *Store) ResendNotices(ctx context.Context, ids []recoup.ID, act store.Act) (n int, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		n = 0
		for _, old := range ids {
			added, err := collectAll(tx, func(key *recoup.ID) []any { return []any{id{key}} },
				resendNotice, id{&old}, micros(act.At), store.ResendKey(old))
			if err != nil {
				return err
			}
			for _, as := range added {
				if err := tx.audit(act.On(store.ActNoticeResend, old.String(), map[string]any{"as": as.String()})); err != nil {
					return err
				}
			}
			n += len(added)
		}
		if n > 0 {
			tx.wake(store.WakeNotices)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// OutboxLevels says how much waits and how much was given up.
func (s *Store) OutboxLevels(ctx context.Context) (store.OutboxLevel, error) {
	list, err := query(ctx, s, func(l *store.OutboxLevel) []any {
		return []any{&l.Waiting, stamp{&l.OldestDue}, &l.GivenUp}
	}, selectOutboxLevels, store.MaxOutboxCount)
	return one(list, err, "the outbox")
}
