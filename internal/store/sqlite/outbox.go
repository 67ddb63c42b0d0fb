package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
)

const (
	selectNotices = `select ` + pendingColumns + ` from outbox where due_at is not null order by due_at limit 0 + ?`
	addNotice     = `insert into outbox (kind, recipient, error_id, created_at, due_at, dedup_key, body)
		select ?1, ?2, ?3, ?4, ?4, ?5, ?6 where not exists (select 1 from outbox where dedup_key = ?5)`
	claimNotices = `update outbox set due_at = ?2, attempts = attempts + 1 where notice_id in
		(select notice_id from outbox where due_at <= ?1 order by due_at limit 0 + ?3) returning ` + pendingColumns
	waitingNotices = `select ` + pendingColumns + ` from outbox indexed by outbox_span_idx
		where due_at is not null and kind in ('PAGE', 'ALERT', 'JOB_LATE', 'JOB_RECOVERED') and kind = ?`
	finishNotice = `update outbox set due_at = ?3, delivered_at = ?4, given_up_at = ?5, last_error = ?6
		where notice_id = ?1 and attempts = ?2 and due_at is not null`
	purgeNotices = `delete from outbox where notice_id in (select notice_id from outbox
		where due_at is null and coalesce(delivered_at, given_up_at) < ? order by coalesce(delivered_at, given_up_at) limit 0 + ?)`
)

// PendingNotices returns notices that wait to be delivered, longest due first.
func (s *Store) PendingNotices(ctx context.Context, limit int) ([]store.PendingNotice, error) {
	return query(ctx, s, pendingFields, selectNotices, store.Page{Limit: limit}.Size())
}

// AddNotices adds notices that no error causes.
func (s *Store) AddNotices(ctx context.Context, now time.Time, notices []store.Notice) (added int, err error) {
	for _, n := range notices {
		if err := n.Body.Check(); err != nil {
			return 0, err
		}
	}
	err = s.writer.do(ctx, func(tx *tx) error {
		added, err = tx.addNotices(now, notices)
		return err
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

func (t *tx) addNotices(now time.Time, notices []store.Notice) (added int, err error) {
	for _, n := range notices {
		m, err := t.change(addNotice, string(n.Kind), n.To, id{&n.ErrorID}, micros(now), text[string]{&n.Key}, text[store.JSON]{&n.Body})
		if err != nil {
			return 0, err
		}
		added += m
	}
	if len(notices) > 0 {
		t.wake(store.WakeNotices)
	}
	return added, nil
}

// ClaimNotices takes notices that are due, for as long as a lease.
func (s *Store) ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) (list []store.PendingNotice, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		list, err = collectAll(tx, pendingFields, claimNotices, micros(now), micros(now.Add(lease)), store.Page{Limit: limit}.Size())
		return err
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
	text, args := waitingText(kind, errors)
	list, err := query(ctx, s, pendingFields, text, args...)
	slices.SortFunc(list, store.OlderNotice)
	return list, err
}

func waitingText(kind recoup.NoticeKind, errors []recoup.ID) (string, []any) {
	text, args := waitingNotices+` and error_id is null`, []any{string(kind)}
	if len(errors) > 0 {
		text = waitingNotices + ` and error_id in (?` + strings.Repeat(", ?", len(errors)-1) + `)`
		for i := range errors {
			args = append(args, id{&errors[i]})
		}
	}
	return text + ` limit 0 + ?`, append(args, store.MaxWaitingNotices)
}

// FinishNotices notes what became of deliveries, and returns of how many: those
// of an attempt that is not the last one any more are passed over.
func (s *Store) FinishNotices(ctx context.Context, now time.Time, deliveries []store.Delivery) (finished int, err error) {
	err = s.writer.do(ctx, func(tx *tx) error {
		finished = 0
		for _, d := range deliveries {
			var due, delivered, givenUp time.Time
			switch {
			case d.Delivered:
				delivered = now
			case d.RetryAt.IsZero():
				givenUp = now
			default:
				due = d.RetryAt
			}
			n, err := tx.change(finishNotice, id{&d.ID}, d.Attempt, stamp{&due}, stamp{&delivered}, stamp{&givenUp}, text[string]{&d.Error})
			if err != nil {
				return err
			}
			finished += n
		}
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
	return s.purge(ctx, purgeNotices, micros(before), store.Page{Limit: limit}.Size())
}
