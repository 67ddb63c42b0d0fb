package sqlops

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var (
	notices = sqldb.NewRepository(store.Notices, "notice")
	pending = sqldb.NewRepository(sqldb.Table[wire.Notice]{Name: store.Notices.Name, Columns: store.PendingNotices}, "notice")
	claimed = sqldb.NewRepository(sqldb.Table[wire.Notice]{Name: store.Notices.Name, Columns: store.ClaimedNotices}, "notice")
)

// PendingNotices returns notices that wait to be delivered, longest due first.
func (v Ops) PendingNotices(ctx context.Context, limit int) ([]wire.Notice, error) {
	return pending.List(ctx, v.db, pending.Select("read the outbox", "where due_at is not null order by due_at limit $1", sqldb.Clamp(limit)))
}

// AddNotices adds notices that no error causes.
func (v Ops) AddNotices(ctx context.Context, now time.Time, list []wire.Notice) (int, error) {
	for _, n := range list {
		if err := n.Body.Check(); err != nil {
			return 0, err
		}
	}
	if len(list) == 0 {
		return 0, nil
	}
	return sqldb.Act(ctx, v.db, "add notices", func(tx Tx) (int, error) { return AddNotices(tx, now, list) })
}

// AddNotices adds notices, but for those whose key is known, and returns how many.
func AddNotices(tx Tx, now time.Time, list []wire.Notice) (int, error) {
	if len(list) == 0 {
		return 0, nil
	}
	tx.Wake(store.WakeNotices)
	return tx.InsertNew(NoticeBatch(now, list))
}

// NoticeBatch is notices that are due at once. They go in by the order of their
// keys, so that two nodes that add the same do not wait for each other crosswise.
func NoticeBatch(now time.Time, list []wire.Notice) sqldb.Batch {
	added := slices.Clone(list)
	for i := range added {
		added[i].CreatedAt, added[i].DueAt = now, now
	}
	slices.SortStableFunc(added, func(a, b wire.Notice) int { return strings.Compare(a.Key, b.Key) })
	return notices.NewRows(added)
}

// maxMessages is how many messages are claimed at a time, each of which has up to a
// thousand rows; the others stay due.
const maxMessages = 50

// ClaimNotices takes notices that are due, for as long as a lease. Rows that
// another node takes at this moment are passed over. Of a message, the row that stands
// for it is taken, and the others belong to whoever has that one.
func (v Ops) ClaimNotices(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]wire.Notice, error) {
	return sqldb.Act(ctx, v.db, "claim notices", func(tx Tx) ([]wire.Notice, error) {
		list, err := claimed.Find(tx, "where due_at <= $1 and coalesce(message_id, notice_id) = notice_id order by due_at limit $2"+tx.Dialect().ForUpdate("no key update skip locked"), now, sqldb.Clamp(limit))
		if err != nil || len(list) == 0 {
			return nil, err
		}
		var ids, messages []recoup.ID
		list = slices.DeleteFunc(list, func(n wire.Notice) bool {
			if n.MessageID.IsZero() {
				return false
			}
			messages = append(messages, n.ID)
			return len(messages) > maxMessages
		})
		messages = messages[:min(len(messages), maxMessages)]
		for i := range list {
			list[i].Attempts++
			ids = append(ids, list[i].ID)
		}
		slices.SortFunc(list, store.OlderNotice)
		const take = "update recoup.outbox set due_at = $1, attempts = attempts + 1 where "
		if _, err := tx.Change(take+"notice_id"+tx.Dialect().AnyID("$2"), []any{now.Add(lease), ids}); err != nil || len(messages) == 0 {
			return list, err
		}
		_, err = tx.Change(take+others+tx.Dialect().AnyID("$2"), []any{now.Add(lease), messages})
		return list, err
	})
}

// others are the rows of a message that wait beside the one that stands for it. Only who
// has locked that one touches them.
const others = "due_at is not null and message_id is not null and notice_id <> message_id and message_id"

// SaveMessage keeps which notices a message has and what it says. They are taken in the
// order of their ids, as those of deliveries are.
func (v Ops) SaveMessage(ctx context.Context, m store.Message) error {
	if err := m.Body.Check(); err != nil {
		return err
	}
	sorted := slices.SortedFunc(slices.Values(m.Notices), func(a, b store.ClaimedNotice) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	each := make([][]any, len(sorted))
	for i, n := range sorted {
		var body recoup.JSON
		if n.ID == m.ID {
			body = m.Body
		}
		each[i] = []any{n.ID, n.Attempt, m.ID, null(string(body))}
	}
	return v.db.Act(ctx, "save a message", time.Time{}, func(tx Tx) error {
		n, err := tx.Change(`update recoup.outbox set message_id = $3, message = $4
			where notice_id = $1 and attempts = $2 and due_at is not null and message_id is null`, each...)
		if err == nil && n < len(each) {
			err = fmt.Errorf("message %v: %w", m.ID, store.ErrConflict)
		}
		return err
	})
}

// WaitingNotices returns the notices of a kind that wait, oldest first: those of some
// errors, or those that no error causes.
func (v Ops) WaitingNotices(ctx context.Context, kind wire.NoticeKind, errors []recoup.ID) ([]wire.Notice, error) {
	list, err := pending.List(ctx, v.db, waitingQuery(v.db.Dialect(), kind, errors))
	slices.SortFunc(list, store.OlderNotice)
	return list, err
}

// waitingQuery names the kinds outright, so that their index can serve.
func waitingQuery(d sqldb.Dialect, kind wire.NoticeKind, errors []recoup.ID) *sqldb.Query {
	q := pending.Select("read the outbox", `/*by outbox_span_idx*/
		where due_at is not null and kind in ('PAGE', 'ALERT', 'JOB_LATE', 'JOB_RECOVERED') and kind = $1`, string(kind))
	if len(errors) > 0 {
		q.AnyOf(d, "error_id", errors)
	} else {
		q.Add(" and error_id is null")
	}
	return q.Add(" limit " + q.Arg(store.MaxWaitingNotices))
}

// FinishNotices notes what became of deliveries, and returns of how many: those
// of an attempt that is not the last one any more are passed over. They are taken in
// the order of their ids, so that nodes do not wait for each other crosswise.
func (v Ops) FinishNotices(ctx context.Context, now time.Time, deliveries []store.Delivery) (int, error) {
	if len(deliveries) == 0 {
		return 0, nil
	}
	ids := make([]recoup.ID, len(deliveries))
	for i := range deliveries {
		ids[i] = deliveries[i].ID
	}
	return sqldb.Act(ctx, v.db, "finish notices", func(tx Tx) (int, error) {
		list, err := pending.Find(tx, "where due_at is not null and coalesce(message_id, notice_id) = notice_id and notice_id"+
			tx.Dialect().AnyID("$1")+" order by notice_id"+tx.Dialect().ForUpdate("no key update"), ids)
		if err != nil {
			return 0, err
		}
		held := map[store.ClaimedNotice]wire.Notice{}
		for _, n := range list {
			held[store.ClaimedNotice{ID: n.ID, Attempt: n.Attempts}] = n
		}
		var each, rest [][]any
		var copies []wire.Notice
		for _, d := range deliveries {
			attempt := store.ClaimedNotice{ID: d.ID, Attempt: d.Attempt}
			n, ok := held[attempt]
			if !ok {
				continue
			}
			delete(held, attempt) // it ends once
			copies = append(copies, d.Copies...)
			args := ended(now, d)
			if each = append(each, args); !n.MessageID.IsZero() {
				rest = append(rest, args)
			}
		}
		const finish = "update recoup.outbox set due_at = $2, delivered_at = $3, given_up_at = $4, last_error = $5 where "
		if _, err := tx.Change(finish+others+" = $1", rest...); err != nil {
			return 0, err
		}
		if _, err := AddNotices(tx, now, copies); err != nil {
			return 0, err
		}
		return tx.Change(finish+"notice_id = $1", each...)
	})
}

// ended are the arguments that say what became of a delivery.
func ended(now time.Time, d store.Delivery) []any {
	var due, delivered, givenUp time.Time
	switch {
	case d.Delivered:
		delivered = now
	case d.RetryAt.IsZero():
		givenUp = now
	default:
		due = d.RetryAt
	}
	return []any{d.ID, null(due), null(delivered), null(givenUp), null(d.Error)}
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
func (v Ops) PurgeNotices(ctx context.Context, before time.Time, limit int) (int, error) {
	d := v.db.Dialect()
	return v.purge(ctx, "purge notices", "delete from recoup.outbox where notice_id"+d.AnyOf(`
		select notice_id from recoup.outbox where due_at is null and coalesce(delivered_at, given_up_at) < $1
		order by coalesce(delivered_at, given_up_at) limit $2`+d.ForUpdate("update skip locked")), before, sqldb.Clamp(limit))
}

// purge runs one statement that deletes, and returns how many rows it deleted.
func (v Ops) purge(ctx context.Context, doing, sql string, args ...any) (int, error) {
	return sqldb.Act(ctx, v.db, doing, func(tx Tx) (int, error) { return tx.Change(sql, args) })
}

// Notices lists notices, newest first.
func (v Ops) Notices(ctx context.Context, f wire.NoticeFilter, p sqldb.Page) ([]wire.Notice, sqldb.Cursor, error) {
	return notices.Page(ctx, v.db, noticeQuery(f, p), p, func(n *wire.Notice) sqldb.Cursor { return sqldb.Cursor{At: n.CreatedAt, ID: n.ID} })
}

func noticeQuery(f wire.NoticeFilter, p sqldb.Page) *sqldb.Query {
	index, where := "list", "true"
	switch f.State {
	case "":
	case wire.NoticeWaiting:
		index, where = "waiting", "due_at is not null"
	case wire.NoticeDelivered:
		where = "delivered_at is not null"
	case wire.NoticeGivenUp:
		index, where = "given_up", "given_up_at is not null"
	default:
		where = "false"
	}
	q := notices.Select("list notices", "/*by outbox_"+index+"_idx*/ where "+where)
	q.Equal("recipient", f.To)
	q.Equal("kind", string(f.Kind))
	return q.Newest("created_at", "notice_id", p)
}

// ResendNotices puts notices that were given up in again, each once.
func (v Ops) ResendNotices(ctx context.Context, ids []recoup.ID, by store.Act) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	return sqldb.Act(ctx, v.db, "resend notices", func(tx Tx) (int, error) {
		q := notices.Select("", "where given_up_at is not null")
		q.AnyOf(tx.Dialect(), "notice_id", ids)
		var old, again []wire.Notice
		if err := tx.Query(q.Add(" order by notice_id"), sqldb.Into(&old, notices.Columns)); err != nil || len(old) == 0 {
			return 0, err
		}
		for _, n := range old {
			again = append(again, wire.Notice{
				Kind: n.Kind, To: n.To, ErrorID: n.ErrorID, Body: n.Body, Key: store.ResendKey(n.ID), CreatedAt: by.At, DueAt: by.At, ResendOf: n.ID,
			})
		}
		return resend(tx, again, by)
	})
}

// resend adds notices, and records in the audit the id of each that is new.
func resend(tx Tx, again []wire.Notice, by store.Act) (int, error) {
	n := 0
	for _, notice := range again {
		added, err := tx.InsertNew(notices.NewRows([]wire.Notice{notice}))
		if err != nil {
			return n, err
		}
		if added == 0 {
			continue // it was requeued before
		}
		stored, err := notices.Find(tx, "where dedup_key = $1", notice.Key)
		as, err := sqldb.One(stored, err, "notice")
		if err != nil {
			return n, err
		}
		if err := audits.Add(tx, by.On(store.ActNoticeResend, notice.ResendOf.String(), map[string]any{"as": as.ID.String()})); err != nil {
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
func (v Ops) OutboxLevels(ctx context.Context) (store.OutboxLevel, error) {
	type level = store.OutboxLevel
	list, err := sqldb.Rows(ctx, v.db, sqldb.NewQuery("look at the outbox", outboxLevels, store.MaxOutboxCount),
		sqldb.Big("waiting", func(l *level) *int64 { return &l.Waiting }),
		sqldb.Time("oldest", func(l *level) *time.Time { return &l.OldestDue }),
		sqldb.Big("given_up", func(l *level) *int64 { return &l.GivenUp }))
	return sqldb.One(list, err, "the outbox")
}
