package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
)

var (
	selectWhole = "select " + names(wholeColumns, "") + " from recoup.dead_letter d" + joinLetter + " left join recoup.error e on e.error_id = d.error_id"
)

// DeadLetter returns a dead letter with its error and all that belongs to it.
func (s *Store) DeadLetter(ctx context.Context, id recoup.ID) (store.Letter, error) {
	l, err := s.letter(ctx, selectWhole+" where d.error_id = $1", id, "dead letter ")
	if err == nil && l.Error.ID.IsZero() {
		l.Error, err = s.Error(ctx, id)
	}
	return l, err
}

// WorkLetter returns what there is of a piece of work.
func (s *Store) WorkLetter(ctx context.Context, work recoup.ID) (store.Letter, error) {
	rows, err := s.pool.Query(ctx, findLeases, idArray([]recoup.ID{work}))
	held, err := collectRows("read a lease", rows, err, decode(heldColumns))
	if err != nil {
		return store.Letter{}, err
	}
	l, err := s.letter(ctx, "select "+names(wholeColumns, "")+` from (select $1::uuid as work_id) o
		left join recoup.dead_letter d on d.work_id = o.work_id and d.closed_at is null
		left join recoup.replay_item i on i.error_id = d.error_id and i.state in ('PENDING', 'RELEASED')
		left join recoup.work w on w.work_id = o.work_id
		left join recoup.error e on e.error_id = d.error_id
		where d.work_id is not null or w.work_id is not null`, work, "work ")
	if q := &l.Queued; err == nil && hasTicket(q) {
		newBatches(held).over(q)
	}
	return l, err
}

func (s *Store) letter(ctx context.Context, sql string, id recoup.ID, what string) (store.Letter, error) {
	rows, err := s.pool.Query(ctx, sql, id[:])
	list, err := collectRows("read a dead letter", rows, err, decode(wholeColumns))
	return one(list, err, what+id.String())
}

// DeadLetters lists dead letters, newest first.
func (s *Store) DeadLetters(ctx context.Context, f store.LetterFilter, p store.Page) ([]store.Letter, store.Cursor, error) {
	q := lettersQuery(f, p)
	rows, err := s.pool.Query(ctx, q.String(), q.args...)
	list, err := collectRows("list dead letters", rows, err, decode(wholeColumns))
	return list, lastOf(list, p, func(l *store.Letter) store.Cursor { return store.Cursor{At: l.Dead.CreatedAt, ID: l.Dead.ErrorID} }), err
}

// lettersQuery picks the page before it is joined with anything. What is closed is in
// no index of pipelines.
func lettersQuery(f store.LetterFilter, p store.Page) *query {
	const order = " order by d.created_at desc, d.error_id desc"
	q := &query{}
	q.add("select " + names(wholeColumns, "") + " from (")
	q.newestOf("recoup.dead_letter d", order, f.Within, f.Step == store.StepVerified || !f.Group.IsZero(), p, func() {
		if f.Step != store.StepVerified {
			q.add(" and d.closed_at is null")
		}
		q.equal("d.pipeline", f.Pipeline)
		q.equal("d.stage", f.Stage)
		q.equal("d.error_class", string(f.Class))
		q.equal("d.step", string(f.Step))
		if !f.Group.IsZero() {
			q.add(" and d.group_id = " + q.arg(f.Group[:]))
		}
		if !f.Before.IsZero() {
			q.add(" and d.created_at < " + q.arg(f.Before))
		}
		if !f.After.IsZero() {
			q.add(" and d.created_at >= " + q.arg(f.After))
		}
		q.past("d.created_at, d.error_id", p.Cursor)
	})
	q.add(") d" + joinLetter + " left join recoup.error e on e.error_id = d.error_id" + order)
	return q
}

// newestOf picks a page of what is named d. Of several pipelines a page of each is
// read from its index, and the newest of them are taken, unless another index serves.
func (q *query) newestOf(from, order string, within *store.Pipelines, another bool, p store.Page, conditions func()) {
	limit := order + " limit " + q.arg(p.Size())
	if within == nil || within.Except || another {
		q.add("select * from " + from + " where true")
		q.among("d.pipeline", within)
		conditions()
		q.add(limit)
		return
	}
	q.add("select d.* from unnest(" + q.arg(within.Names) + "::text[]) n (pipeline) cross join lateral (select * from " + from +
		` where d.pipeline = n.pipeline collate "C"`)
	conditions()
	q.add(limit + ") d" + limit)
}

// among restricts to the pipelines that a caller sees.
func (q *query) among(column string, within *store.Pipelines) {
	switch {
	case within == nil:
	case within.Except:
		q.add(" and " + column + " <> all (" + q.arg(append([]string{}, within.Names...)) + ")")
	default:
		q.add(" and " + column + " = any (" + q.arg(append([]string{}, within.Names...)) + ")")
	}
}

// GroupDays returns what a group has gained on each UTC day from a day on.
func (s *Store) GroupDays(ctx context.Context, id recoup.ID, from time.Time, limit int) ([]store.DayCount, error) {
	rows, err := s.pool.Query(ctx, `select day, sum(arrived)::bigint from recoup.dead_letter_count
		where group_id = $1 and day >= ($2::timestamptz at time zone 'UTC')::date
		group by 1 having sum(arrived) <> 0 order by 1 limit $3`, id[:], from, clamp(limit))
	return collectRows("read the days of a group", rows, err, func(row pgx.CollectableRow) (c store.DayCount, err error) {
		err = row.Scan(&c.Day, &c.N)
		return c, err
	})
}
